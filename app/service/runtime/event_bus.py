"""Publish events to connected clients. Clients that connect later read the log."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from app.storage.rows import EventRow

_MOST_UNREAD = 1000


class Listener:
    """Somebody who listens to an agent: the key, and the browser session if it is one.

    A part of the server itself has no key.
    """

    def __init__(self, agent: int, key: str | None = None, session: str | None = None) -> None:
        self.agent = agent
        self.key = key
        self.session = session
        self.events: asyncio.Queue[EventRow | None] = asyncio.Queue()
        """Events of the agent in order; None is the end."""


class EventBus:
    """Sends every event of an agent to its listeners."""

    def __init__(self) -> None:
        self._listeners: defaultdict[int, set[Listener]] = defaultdict(set)
        self.closed = False

    def publish(self, event: EventRow) -> None:
        """Send an event to all listeners.

        A listener that is too slow is disconnected. It can read the log when it connects again.
        """
        for listener in list(self._listeners.get(event.agent, ())):
            if listener.events.qsize() >= _MOST_UNREAD:
                self._disconnect(listener)
            else:
                listener.events.put_nowait(event)

    def add(self, listener: Listener) -> None:
        """Start listening: the listener's queue gets the events from now on."""
        if self.closed:
            listener.events.put_nowait(None)
        self._listeners[listener.agent].add(listener)

    def remove(self, listener: Listener) -> None:
        """Stop listening."""
        self._listeners[listener.agent].discard(listener)
        if not self._listeners[listener.agent]:
            del self._listeners[listener.agent]

    def end(self, chosen: Callable[[Listener], bool]) -> None:
        """Disconnect some listeners."""
        for listeners in list(self._listeners.values()):
            for listener in [listener for listener in listeners if chosen(listener)]:
                self._disconnect(listener)

    def close(self) -> None:
        """Disconnect all listeners."""
        self.closed = True
        self.end(lambda _: True)

    @property
    def listeners(self) -> int:
        """The number of listeners."""
        return sum(len(listeners) for listeners in self._listeners.values())

    def _disconnect(self, listener: Listener) -> None:
        self._listeners[listener.agent].discard(listener)
        listener.events.put_nowait(None)
