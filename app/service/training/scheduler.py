"""The scheduler of learning: which job runs next, and how long it is expected to take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from cachetools import LRUCache

LONG_SECONDS = 1.0  # a job that takes longer leaves the short lane
_AGEING = 1.0  # seconds of expected time that a second of waiting makes up for
_REMEMBERED_AGENTS = 10_000
_SMOOTHING = 0.3  # weight of the newest duration in the average


class Scheduler(Protocol):
    """Decides the order in which jobs get a free process."""

    def turn(self, agent: int, estimate: float) -> AbstractAsyncContextManager[None]:
        """Wait until a job of this agent may run, and hold its place while it does.

        ``estimate`` is how many seconds it may take, for an agent without a record.
        """
        ...

    def expected_seconds(self, agent: int) -> float | None:
        """How long the next job of an agent should take, by its own record."""
        ...

    def longest_wait(self, agent: int) -> float:
        """How many seconds the start of an episode may wait for the agent's learning."""
        ...


class Durations:
    """How long the jobs of each agent took: an exponential moving average."""

    def __init__(self) -> None:
        self._seconds: LRUCache[int, float] = LRUCache(_REMEMBERED_AGENTS)

    def record(self, agent: int, seconds: float) -> None:
        """Note the duration of a job."""
        known = self._seconds.get(agent)
        new = seconds if known is None else known + _SMOOTHING * (seconds - known)
        self._seconds[agent] = new

    def expected(self, agent: int) -> float | None:
        """How long the agent's next job should take; None without a record."""
        found: float | None = self._seconds.get(agent)
        return found


@dataclass(eq=False, slots=True)
class _Turn:
    """A job that waits for its turn, or has it."""

    expected: float
    since: float
    come: asyncio.Future[None]


class FairScheduler:
    """Short jobs first, with ageing; long jobs have separate processes.

    ``short_lanes`` jobs run at a time. A job that has run, or is expected to run, for longer than
    `LONG_SECONDS` takes one of the ``long_lanes`` and leaves its place to short ones. So a heavy
    agent delays other heavy agents, and not a light one. Without long lanes all jobs are alike.
    """

    def __init__(
        self,
        short_lanes: int,
        long_lanes: int,
        wait_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._short_lanes = short_lanes
        self._long_lanes = long_lanes
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._durations = Durations()
        self._waiting: list[_Turn] = []
        self._short: set[_Turn] = set()  # turns that have come
        self._long: set[_Turn] = set()

    @asynccontextmanager
    async def turn(self, agent: int, estimate: float) -> AsyncIterator[None]:
        """Wait until a job of this agent may run, and hold its place while it does."""
        expected = self._durations.expected(agent)
        come = asyncio.get_running_loop().create_future()
        turn = _Turn(estimate if expected is None else expected, self._clock(), come)
        self._waiting.append(turn)
        self._dispatch()
        try:
            await come
            began = self._clock()
            moving = asyncio.get_running_loop().call_later(LONG_SECONDS, self._move, turn)
            try:
                yield
            finally:
                moving.cancel()
                self._durations.record(agent, self._clock() - began)
        finally:
            self._leave(turn)

    def expected_seconds(self, agent: int) -> float | None:
        """How long the next job of an agent should take, by its own record."""
        return self._durations.expected(agent)

    def longest_wait(self, agent: int) -> float:  # noqa: ARG002 - every agent alike
        """The configured bound."""
        return self._wait_seconds

    def _leave(self, turn: _Turn) -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)
        self._short.discard(turn)
        self._long.discard(turn)
        self._dispatch()

    def _dispatch(self) -> None:
        """Give free lanes to waiting jobs, the most urgent first."""
        self._make_room()
        for turn in sorted(self._waiting, key=self._urgency):
            is_long = self._long_lanes > 0 and turn.expected > LONG_SECONDS
            lane, size = (
                (self._long, self._long_lanes) if is_long else (self._short, self._short_lanes)
            )
            if len(lane) < size and not turn.come.done():
                self._waiting.remove(turn)
                lane.add(turn)
                turn.come.set_result(None)

    def _urgency(self, turn: _Turn) -> float:
        """Expected seconds, less what waiting makes up for: the smallest goes first."""
        return turn.expected - _AGEING * (self._clock() - turn.since)

    def _move(self, turn: _Turn) -> None:
        """Note that a running job is a long one."""
        turn.expected = max(turn.expected, 2 * LONG_SECONDS)
        self._dispatch()

    def _make_room(self) -> None:
        """Move jobs that turned out to be long out of the short lanes."""
        for turn in list(self._short):
            if turn.expected > LONG_SECONDS and len(self._long) < self._long_lanes:
                self._short.discard(turn)
                self._long.add(turn)
