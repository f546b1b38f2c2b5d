"""The fair scheduler: short jobs first, and long ones in lanes of their own."""

import asyncio

import pytest

from app.service.training import scheduler as module
from app.service.training.scheduler import Durations, FairScheduler


class Jobs:
    """Jobs that run until they are told to end, on a clock that a test moves."""

    def __init__(self, short=1, long=1):
        self.now = 0.0
        self.scheduler = FairScheduler(short, long, 30.0, lambda: self.now)
        self.running = []
        self._ends = {}
        self._tasks = {}

    def ask(self, agent, estimate=0.0):
        self._ends[agent] = asyncio.Event()
        self._tasks[agent] = asyncio.create_task(self._job(agent, estimate))

    async def _job(self, agent, estimate):
        async with self.scheduler.turn(agent, estimate):
            self.running.append(agent)
            try:
                await self._ends[agent].wait()
            finally:
                self.running.remove(agent)

    async def end(self, agent):
        self._ends[agent].set()
        await self._tasks[agent]
        await settle()

    async def cancel(self, agent):
        self._tasks[agent].cancel()
        await settle()

    async def close(self):
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


def run(use, **lanes):
    async def inner():
        jobs = Jobs(**lanes)
        try:
            await use(jobs)
        finally:
            await jobs.close()

    asyncio.run(asyncio.wait_for(inner(), 30))


def test_a_job_expected_to_be_long_leaves_the_short_lane_to_others():
    async def use(jobs):
        jobs.ask("heavy", estimate=60.0)
        jobs.ask("light")
        await settle()
        assert jobs.running == ["heavy", "light"]

    run(use)


def test_long_jobs_wait_for_one_another():
    async def use(jobs):
        jobs.ask("heavy", estimate=60.0)
        jobs.ask("heavier", estimate=70.0)
        await settle()
        assert jobs.running == ["heavy"]
        jobs.ask("light")
        await settle()
        assert jobs.running == ["heavy", "light"]
        await jobs.end("heavy")
        assert jobs.running == ["light", "heavier"]

    run(use)


def test_a_job_that_turns_out_to_be_long_makes_room(monkeypatch):
    monkeypatch.setattr(module, "LONG_SECONDS", 0.05)

    async def use(jobs):
        jobs.ask("surprise")
        await settle()
        jobs.ask("light")
        await settle()
        assert jobs.running == ["surprise"]
        await asyncio.sleep(0.1)
        assert jobs.running == ["surprise", "light"]

    run(use)


def test_two_surprises_are_untangled_as_soon_as_there_is_room(monkeypatch):
    monkeypatch.setattr(module, "LONG_SECONDS", 0.05)

    async def use(jobs):
        jobs.ask("first")
        await asyncio.sleep(0.1)
        jobs.ask("second")
        await asyncio.sleep(0.1)
        jobs.ask("light")
        await settle()
        assert jobs.running == ["first", "second"]
        await jobs.end("first")
        assert jobs.running == ["second", "light"]

    run(use)


def test_the_record_of_an_agent_decides_its_next_job():
    async def use(jobs):
        jobs.ask("agent")
        await settle()
        jobs.now = 20.0
        await jobs.end("agent")
        assert jobs.scheduler.expected_seconds("agent") == 20.0
        jobs.ask("agent")
        jobs.ask("light")
        await settle()
        assert jobs.running == ["agent", "light"]

    run(use)


def test_the_shortest_goes_first_unless_another_has_waited_longer():
    async def use(jobs):
        jobs.ask("busy")
        await settle()
        jobs.ask("half a second", estimate=0.5)
        await settle()
        jobs.now = 0.1
        jobs.ask("instant", estimate=0.0)
        await jobs.end("busy")
        assert jobs.running == ["instant"]
        jobs.now = 0.7
        jobs.ask("late", estimate=0.1)
        await jobs.end("instant")
        assert jobs.running == ["half a second"]

    run(use)


def test_a_caller_that_gives_up_takes_nobodys_place():
    async def use(jobs):
        jobs.ask("busy")
        await settle()
        jobs.ask("gone")
        jobs.ask("next")
        await settle()
        await jobs.cancel("gone")
        await jobs.end("busy")
        assert jobs.running == ["next"]
        await jobs.cancel("next")
        jobs.ask("after")
        await settle()
        assert jobs.running == ["after"]

    run(use)


def test_durations_follow_the_newest():
    durations = Durations()
    assert durations.expected(1) is None
    durations.record(1, 10.0)
    durations.record(1, 0.0)
    assert durations.expected(1) == pytest.approx(7.0)


def test_without_long_lanes_all_jobs_are_alike():
    async def use(jobs):
        jobs.ask("heavy", estimate=60.0)
        await settle()
        jobs.ask("light")
        await settle()
        assert jobs.running == ["heavy"]
        await jobs.end("heavy")
        assert jobs.running == ["light"]

    run(use, long=0)
