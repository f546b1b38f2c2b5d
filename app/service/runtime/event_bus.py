"""Events for clients that listen now; the log has them for those that come later."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from app.storage.rows import EventRow

_MOST_UNREAD = 1000

EventQueue = asyncio.Queue[EventRow | None]
"""Events of one agent in order; None is the end."""


class EventBus:
    """Hands every event of an agent to everybody who listens to it."""

    def __init__(self) -> None:
        self._listeners: defaultdict[int, set[EventQueue]] = defaultdict(set)
        self.closed = False

    def publish(self, event: EventRow) -> None:
        """Send an event to all listeners; a listener that is too slow is disconnected.

        It can catch up from the log.
        """
        for queue in list(self._listeners.get(event.agent, ())):
            if queue.qsize() >= _MOST_UNREAD:
                self._disconnect(event.agent, queue)
            else:
                queue.put_nowait(event)

    def listen(self, agent: int) -> EventQueue:
        """A queue of the events from now on."""
        queue: EventQueue = asyncio.Queue()
        if self.closed:
            queue.put_nowait(None)
        self._listeners[agent].add(queue)
        return queue

    def leave(self, agent: int, queue: EventQueue) -> None:
        """Stop listening."""
        self._listeners[agent].discard(queue)
        if not self._listeners[agent]:
            del self._listeners[agent]

    def end(self, agent: int) -> None:
        """Disconnect the listeners of an agent."""
        for queue in list(self._listeners.get(agent, ())):
            self._disconnect(agent, queue)

    def close(self) -> None:
        """Disconnect all listeners."""
        self.closed = True
        for agent in list(self._listeners):
            self.end(agent)

    @property
    def listeners(self) -> int:
        """How many listen."""
        return sum(len(queues) for queues in self._listeners.values())

    def _disconnect(self, agent: int, queue: EventQueue) -> None:
        self._listeners[agent].discard(queue)
        queue.put_nowait(None)
