"""The fair scheduler: short jobs first, and long ones in lanes of their own."""

import asyncio

import pytest

from app.service.training import scheduler as module
from app.service.training.scheduler import Durations, FairScheduler, Work


class Jobs:
    """Jobs that run until they are told to end, on a clock that a test moves."""

    def __init__(self, short=1, long=1):
        self.now = 0.0
        self.scheduler = FairScheduler(short, long, 30.0, lambda: self.now)
        self.running = []
        self.preempted = []
        self._ends = {}
        self._tasks = {}

    def ask(self, agent, estimate=0.0, kind="LearningJob"):
        self._ends[agent] = asyncio.Event()
        self._tasks[agent] = asyncio.create_task(self._job(Work(agent, kind, estimate)))

    async def _job(self, work):
        agent, again = work.agent, True
        while again:
            async with self.scheduler.turn(work) as turn:
                self.running.append(agent)
                turn.preempt = lambda turn=turn: self._preempt(agent)
                try:
                    await self._ends[agent].wait()
                finally:
                    self.running.remove(agent)
            again = turn.is_preempted
            if again:
                self._ends[agent].clear()

    def _preempt(self, agent):
        self.preempted.append(agent)
        self._ends[agent].set()

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
    durations, work = Durations(), Work(1)
    assert durations.expected(work) is None
    durations.record(work, 10.0)
    durations.record(work, 0.0)
    assert durations.expected(work) == pytest.approx(7.0)


def test_ranking_does_not_make_a_heavy_agent_look_light():
    durations, ranking = Durations(), Work(1, "RankingJob")
    durations.record(Work(1), 60.0)
    for _ in range(20):
        durations.record(ranking, 0.01)
    assert durations.expected(Work(1)) == 60.0
    assert durations.expected(ranking) == pytest.approx(0.01)


def test_a_job_that_was_ended_counts_as_longer_than_it_ran():
    durations, work = Durations(), Work(1)
    durations.record(work, 0.1)
    durations.record_longer(work, 3.0)
    assert durations.expected(work) == 6.0
    durations.record(work, 100.0)
    durations.record_longer(work, 3.0)
    assert durations.expected(work) > 30.0


def test_a_surprise_that_cannot_leave_is_ended_for_a_short_job(monkeypatch):
    """The long lane is taken, and the short lane by a job that looked short and is not."""
    monkeypatch.setattr(module, "LONG_SECONDS", 0.05)
    monkeypatch.setattr(module, "PREEMPT_SECONDS", 0.1)

    async def use(jobs):
        jobs.ask("heavy", estimate=60.0)
        jobs.ask("surprise")
        await settle()
        assert jobs.running == ["heavy", "surprise"]
        await asyncio.sleep(0.2)
        assert jobs.preempted == []  # nobody waits for its place
        jobs.now = 3.0
        jobs.ask("light")
        await settle()
        assert jobs.preempted == ["surprise"]
        assert jobs.running == ["heavy", "light"]
        await jobs.end("light")
        assert jobs.running == ["heavy"]  # it is known to be long, and waits for the long lane
        await jobs.end("heavy")
        assert jobs.running == ["surprise"]

    run(use)


def test_a_heavy_agent_that_is_waited_for_ends_nobody(monkeypatch):
    monkeypatch.setattr(module, "LONG_SECONDS", 0.05)
    monkeypatch.setattr(module, "PREEMPT_SECONDS", 0.1)

    async def use(jobs):
        jobs.ask("heavy", estimate=60.0)
        jobs.ask("surprise")
        await asyncio.sleep(0.2)
        jobs.ask("also heavy", estimate=60.0)
        await settle()
        assert jobs.preempted == []

    run(use)


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
