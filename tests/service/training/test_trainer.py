"""The trainer: a job that fails leaves the policy in force, and the next label tries again."""

import asyncio

import pytest

from app.service.agents.hosted_agent import LearningState
from app.service.labelling.slots import GivenLabel
from app.service.training.process_pool import JobFailed
from app.service.training.trainer import Trainer
from app.storage.queries import agents
from tests.support.service import finished_episode, learned, new_agent, run_service


async def stored_error(container, agent):
    row = await container.database.read(agents.agent_row, agent.number)
    return row.learning_error


def test_a_failed_job_is_stored_and_the_next_label_learns(tmp_path):
    async def use(container):
        assert isinstance(container.trainer, Trainer)
        agent = await new_agent(container)
        first = await finished_episode(container, agent)
        await learned(container, agent)
        plans, run = agent.plans, container.pool.run

        async def fails(_job, _started=None):
            raise JobFailed("needed more memory than there is")

        container.pool.run = fails
        await container.labels.give(first.id, GivenLabel(1))
        await learned(container, agent)
        assert agent.learning is LearningState.failed
        assert agent.plans == plans
        assert agent.learning_error == "needed more memory than there is"
        while await stored_error(container, agent) is None:  # stored after the waiters are woken
            await asyncio.sleep(0.01)
        assert await stored_error(container, agent) == agent.learning_error

        container.pool.run = run
        await container.labels.replace(first.id, GivenLabel(0))
        await learned(container, agent)
        assert agent.learning is LearningState.idle
        assert not agent.behind
        assert await stored_error(container, agent) is None

    run_service(tmp_path, use)


def test_one_job_learns_all_labels_that_arrive_while_another_runs(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        episodes = [await finished_episode(container, agent) for _ in range(4)]
        await learned(container, agent)
        jobs, run = [], container.pool.run

        async def counted(job, started=lambda: None):
            jobs.append(job)
            return await run(job, started)

        container.pool.run = counted
        for episode in episodes:
            await container.labels.give(episode.id, GivenLabel(1))
        await learned(container, agent)
        assert agent.learned == agent.last_lesson
        assert 1 <= len(jobs) <= 2

    run_service(tmp_path, use)


@pytest.mark.parametrize("end", ["close", "delete"])
def test_no_job_is_queued_for_a_closed_trainer_or_a_deleted_agent(tmp_path, end):
    async def use(container):
        agent = await new_agent(container)
        if end == "close":
            await container.trainer.close()
        else:
            await container.registry.delete(agent.id)
        container.trainer.request(agent, more=True)
        assert not container.trainer.is_under_way(agent)

    run_service(tmp_path, use)
