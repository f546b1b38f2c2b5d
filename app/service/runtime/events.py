"""Events for those who listen now; the log has them for those who come later."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from app.service.agents.hosted_agent import Event

_MOST_UNREAD = 1000


class Broadcast:
    """Hands every event of an agent to everybody who listens to it."""

    def __init__(self) -> None:
        self._listeners: defaultdict[int, set[asyncio.Queue[Event | None]]] = defaultdict(set)
        self.closed = False

    def publish(self, event: Event) -> None:
        """Tell everybody; who does not keep up is cut off, and can catch up from the log."""
        for queue in list(self._listeners.get(event.agent, ())):
            if queue.qsize() >= _MOST_UNREAD:
                self._cut(event.agent, queue)
            else:
                queue.put_nowait(event)

    def listen(self, agent: int) -> asyncio.Queue[Event | None]:
        """A queue of what happens from now on; None is the end."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        if self.closed:
            queue.put_nowait(None)
        self._listeners[agent].add(queue)
        return queue

    def leave(self, agent: int, queue: asyncio.Queue[Event | None]) -> None:
        """Listen no more."""
        self._listeners[agent].discard(queue)
        if not self._listeners[agent]:
            del self._listeners[agent]

    def end(self, agent: int) -> None:
        """Tell the listeners of an agent that nothing will follow."""
        for queue in list(self._listeners.get(agent, ())):
            self._cut(agent, queue)

    def close(self) -> None:
        """Tell everybody that nothing will follow."""
        self.closed = True
        for agent in list(self._listeners):
            self.end(agent)

    @property
    def listeners(self) -> int:
        """How many listen."""
        return sum(len(queues) for queues in self._listeners.values())

    def _cut(self, agent: int, queue: asyncio.Queue[Event | None]) -> None:
        self._listeners[agent].discard(queue)
        queue.put_nowait(None)
