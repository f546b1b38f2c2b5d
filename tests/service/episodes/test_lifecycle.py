"""Starts that wait for learning."""

import asyncio
import time

import pytest

from app.errors import Conflict, NotFound
from app.service.episodes.lifecycle import EpisodeRequest
from app.service.labelling.slots import GivenLabel
from app.storage.rows import EpisodeMode, EpisodeStatus
from app.wire.agents import AgentChanges
from app.wire.steps import Step
from tests.support.service import finished_episode, learned, new_agent, new_episode, run_service


def test_an_agent_deleted_while_a_start_waits_is_not_found_at_once(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        episode = await finished_episode(container, agent)
        asked = []

        async def never(job, started=lambda: None):
            asked.append(job)
            started()
            await asyncio.sleep(3600)

        container.pool.run = never
        await container.labels.give(episode.id, GivenLabel(1))
        start = asyncio.create_task(container.lifecycle.start(agent, EpisodeRequest()))
        await asyncio.sleep(0.2)
        assert not start.done()
        began = time.monotonic()
        await container.registry.delete(agent.id)
        with pytest.raises(NotFound, match="agent"):
            await start
        assert time.monotonic() - began < 5
        assert len(asked) == 1  # no job is queued for an agent that is gone

    run_service(tmp_path, use)


def test_a_start_after_a_deletion_leaves_no_episode(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        await container.registry.delete(agent.id)
        agent.deleted = False  # as a process that has not heard of it
        with pytest.raises(NotFound, match="agent"):
            await container.lifecycle.start(agent, EpisodeRequest(wait=False))
        assert container.cache.episodes == {}

    run_service(tmp_path, use)


def test_more_plans_asked_for_while_a_job_runs_are_made(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        jobs, free = [], asyncio.Event()
        run = container.pool.run

        async def slow(job, started=lambda: None):
            jobs.append(job)
            started()
            await free.wait()
            return await run(job)

        container.pool.run = slow
        for _ in range(2):  # the second asks for more plans: the first has the only one
            await new_episode(container, agent)
        await asyncio.sleep(0.05)
        for _ in range(4):  # while that job runs; the last of them lack plans of their own
            await new_episode(container, agent)
        assert len(jobs) == 1
        free.set()
        await learned(container, agent)
        assert [job.more for job in jobs] == [True, True]
        assert jobs[1].first == 6
        assert agent.next_episode in agent.plans

    run_service(tmp_path, use)


def test_a_request_for_more_plans_that_a_job_has_met_meanwhile_makes_no_other_job(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        jobs = []
        run = container.pool.run

        async def noted(job, started=lambda: None):
            jobs.append(job)
            return await run(job, started)

        container.pool.run = noted
        container.trainer.request(agent, more=True)
        await asyncio.sleep(0)
        container.trainer.request(agent, more=True)
        await learned(container, agent)
        assert len(jobs) == 1

    run_service(tmp_path, use)


def test_a_start_on_a_paused_agent_is_refused(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        await container.registry.describe(agent, AgentChanges(paused=True))
        with pytest.raises(Conflict) as refused:
            await new_episode(container, agent)
        assert refused.value.code == "agent_paused"
        await container.registry.describe(agent, AgentChanges(paused=False))
        assert (await new_episode(container, agent)).number == 0

    run_service(tmp_path, use)


def test_an_episode_is_the_same_after_it_left_memory(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        episode = await new_episode(container, agent, mode=EpisodeMode.learn, labels_wanted=2)
        taken = await container.stepping.step(episode.id, Step(step=0, state=1))
        container.cache.drop_idle(-1)
        assert container.cache.episodes == {}
        again = await container.cache.episode(episode.id)
        assert again is not episode
        assert (again.length, again.action, again.memory) == (1, taken.action, episode.memory)
        assert (again.labels_wanted, again.status) == (2, EpisodeStatus.running)
        assert again.standing == episode.standing

    run_service(tmp_path, use)
