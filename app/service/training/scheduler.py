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
PREEMPT_SECONDS = 3.0  # or ends after so many, if it cannot leave and a short one waits
_AGEING = 1.0  # seconds of expected time that a second of waiting makes up for
_REMEMBERED = 20_000  # agents and kinds of jobs
_SMOOTHING = 0.3  # weight of the newest duration in the average


@dataclass(frozen=True)
class Work:
    """A job as the scheduler sees it."""

    agent: int
    kind: str = "LearningJob"  # each has its own record: ranking takes less than learning
    estimate: float = 0.0  # seconds, where there is no record


class Scheduler(Protocol):
    """Decides the order in which jobs get a free process."""

    def turn(self, work: Work) -> AbstractAsyncContextManager[Turn]:
        """Wait until a job may run, and hold its place while it does."""
        ...

    def expected_seconds(self, agent: int) -> float | None:
        """How long the next job of an agent should take, by its own record."""
        ...

    def longest_wait(self, agent: int) -> float:
        """How many seconds the start of an episode may wait for the agent's learning."""
        ...


class Durations:
    """How long the jobs of each agent and kind took: an exponential moving average."""

    def __init__(self) -> None:
        self._seconds: LRUCache[tuple[int, str], float] = LRUCache(_REMEMBERED)

    def record(self, work: Work, seconds: float) -> None:
        """Note the duration of a job."""
        known = self.expected(work)
        new = seconds if known is None else known + _SMOOTHING * (seconds - known)
        self._seconds[work.agent, work.kind] = new

    def record_longer(self, work: Work, seconds: float) -> None:
        """Note that a job takes longer than this: it was ended before."""
        self._seconds[work.agent, work.kind] = max(2 * seconds, self.expected(work) or 0.0)

    def expected(self, work: Work) -> float | None:
        """How long such a job should take next time; None without a record."""
        found: float | None = self._seconds.get((work.agent, work.kind))
        return found


@dataclass(eq=False, slots=True)
class Turn:
    """A job that waits for its turn, or has it."""

    expected: float
    since: float
    come: asyncio.Future[None]
    preempt: Callable[[], None] = lambda: None  # ends the job, which then asks for another turn
    is_overdue: bool = False  # it has taken much longer than expected
    is_preempted: bool = False


class FairScheduler:
    """Short jobs first, with ageing; long jobs have separate processes.

    ``short_lanes`` jobs run at a time. A job that has run, or is expected to run, for longer than
    `LONG_SECONDS` takes one of the ``long_lanes`` and leaves its place to short ones. So a heavy
    agent delays other heavy agents, and not a light one. A long job that cannot leave, because the
    long lanes are taken, is ended after `PREEMPT_SECONDS` if a short job waits, and runs again when
    a long lane is free. Without long lanes all jobs are alike.
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
        self._waiting: list[Turn] = []
        self._short: set[Turn] = set()  # turns that have come
        self._long: set[Turn] = set()

    @property
    def queued(self) -> int:
        """How many jobs wait for their turn."""
        return len(self._waiting)

    @asynccontextmanager
    async def turn(self, work: Work) -> AsyncIterator[Turn]:
        """Wait until a job may run, and hold its place while it does."""
        loop, expected = asyncio.get_running_loop(), self._durations.expected(work)
        come = loop.create_future()
        turn = Turn(work.estimate if expected is None else expected, self._clock(), come)
        self._waiting.append(turn)
        self._dispatch()
        try:
            await come
            began = self._clock()
            timers = [
                loop.call_later(LONG_SECONDS, self._move, turn),
                loop.call_later(PREEMPT_SECONDS, self._note_overdue, turn),
            ]
            try:
                yield turn
            finally:
                for timer in timers:
                    timer.cancel()
                note = (
                    self._durations.record_longer if turn.is_preempted else self._durations.record
                )
                note(work, self._clock() - began)
        finally:
            self._leave(turn)

    def expected_seconds(self, agent: int) -> float | None:
        """How long the next job of an agent should take, by its own record."""
        return self._durations.expected(Work(agent))

    def longest_wait(self, agent: int) -> float:  # noqa: ARG002 - every agent alike
        """The configured bound."""
        return self._wait_seconds

    def _leave(self, turn: Turn) -> None:
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
        self._preempt()

    def _urgency(self, turn: Turn) -> float:
        """Expected seconds, less what waiting makes up for: the smallest goes first."""
        return turn.expected - _AGEING * (self._clock() - turn.since)

    def _move(self, turn: Turn) -> None:
        """Note that a running job is a long one."""
        turn.expected = max(turn.expected, 2 * LONG_SECONDS)
        self._dispatch()

    def _note_overdue(self, turn: Turn) -> None:
        """Note that a running job may be ended for a short one."""
        turn.is_overdue = True
        self._dispatch()

    def _preempt(self) -> None:
        """End a long job in a short lane if a short one waits for that lane."""
        waits = any(turn.expected <= LONG_SECONDS for turn in self._waiting)
        if self._long_lanes and waits and len(self._short) >= self._short_lanes:
            for turn in self._short:
                if turn.is_overdue and not turn.is_preempted:
                    turn.is_preempted = True
                    turn.preempt()
                    return

    def _make_room(self) -> None:
        """Move jobs that turned out to be long out of the short lanes."""
        for turn in list(self._short):
            if turn.expected > LONG_SECONDS and len(self._long) < self._long_lanes:
                self._short.discard(turn)
                self._long.add(turn)
