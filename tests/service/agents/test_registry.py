"""The registry of agents: describe, delete, and what a restart continues."""

import asyncio
import random
import threading

import pytest

from app.errors import NotFound, Stale
from app.service.labelling.slots import GivenLabel
from app.service.runtime import cache
from app.service.training.jobs import LearningJob
from app.storage.queries import agents
from app.wire.agents import AgentChanges
from app.wire.steps import Step
from tests.support.databases import execute
from tests.support.service import finished_episode, new_agent, new_episode, run_service


def rows_of(folder, agent):
    """How many rows of each table belong to an agent."""
    tables = ("steps", "episodes", "labels", "events", "plans", "versions", "knowledge")
    count = "SELECT count(*) FROM {} WHERE agent = :agent"
    return {table: execute(folder, count.format(table), agent=agent)[0][0] for table in tables}


async def purged(container):
    while await container.database.read(agents.agents_deleted):
        await asyncio.sleep(0.01)


def test_an_agent_that_is_deleted_while_it_is_loaded_takes_no_more_steps(tmp_path, monkeypatch):
    unpack_plans = cache._unpack_plans

    async def use(container):
        agent = await new_agent(container)
        episode = await new_episode(container, agent)
        container.cache.forget_agent(agent.number)
        rows_are_read, is_deleted = threading.Event(), threading.Event()

        def slow(*arguments):
            rows_are_read.set()
            assert is_deleted.wait(60)
            return unpack_plans(*arguments)

        monkeypatch.setattr(cache, "_unpack_plans", slow)
        loading = asyncio.ensure_future(container.stepping.step(episode.id, Step(step=0, state=1)))
        await asyncio.to_thread(rows_are_read.wait, 60)
        deleting = asyncio.ensure_future(container.registry.delete(agent.id))
        while not await container.database.read(agents.agents_deleted):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # as long as removing its rows takes
        is_deleted.set()
        await asyncio.gather(loading, deleting, return_exceptions=True)
        await purged(container)
        with pytest.raises(NotFound):
            await container.stepping.step(episode.id, Step(step=1, state=1))
        assert set(rows_of(tmp_path, agent.number).values()) == {0}

    run_service(tmp_path, use)


def test_deleting_agents_under_load_leaves_no_rows(tmp_path):
    async def play(container, agent, luck):
        while True:
            episode = await new_episode(container, agent)
            for step in range(3):
                state = luck.randrange(4)
                await container.stepping.step(episode.id, Step(step=step, state=state))
            await container.lifecycle.finish(episode.id, 3, None, GivenLabel(luck.randrange(2)))
            if luck.random() < 0.3:
                container.cache.drop_idle(0)

    async def one(container, seed):
        luck = random.Random(seed)
        agent = await new_agent(container, algorithm={"kind": "thompson"})
        players = [asyncio.ensure_future(play(container, agent, luck)) for _ in range(3)]
        await asyncio.sleep(luck.uniform(0, 0.3))
        await container.registry.delete(agent.id)
        ends = await asyncio.gather(*players, return_exceptions=True)
        assert all(isinstance(end, NotFound | Stale) for end in ends), ends
        return agent

    async def use(container):
        gone = await asyncio.gather(*(one(container, seed) for seed in range(40)))
        await purged(container)
        await container.pool.run(LearningJob((await new_agent(container)).number, 0, 1, -1))
        for agent in gone:
            assert set(rows_of(tmp_path, agent.number).values()) == {0}, agent.id
        assert await container.database.read(agents.agents_gone) == []

    run_service(tmp_path, use)


def test_two_descriptions_at_once_keep_both(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        await asyncio.gather(
            container.registry.describe(agent, AgentChanges(name="pond")),
            container.registry.describe(agent, AgentChanges(metadata={"arm": 3})),
        )
        row = await container.database.read(agents.agent_row, agent.number)
        assert (row.name, row.metadata) == ("pond", {"arm": 3})

    run_service(tmp_path, use)


def test_a_deleted_agent_is_gone_at_once_and_its_rows_soon_after(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        other = await new_agent(container)
        episode = await finished_episode(container, agent)
        kept = await finished_episode(container, other)
        await container.registry.delete(agent.id)
        for gone in (container.registry.find(agent.id), container.cache.episode(episode.id)):
            with pytest.raises(NotFound):
                await gone
        with pytest.raises(NotFound):
            await container.registry.delete(agent.id)
        while any(rows_of(tmp_path, agent.number).values()):
            await asyncio.sleep(0.02)
        assert rows_of(tmp_path, other.number)["steps"] == 1
        assert (await container.cache.episode(kept.id)).length == 1

    run_service(tmp_path, use)


def test_a_deletion_that_was_interrupted_is_finished_at_the_next_start(tmp_path):
    async def create(container):
        agent = await new_agent(container)
        await new_episode(container, agent)
        return agent.number

    async def nothing(_container):
        return None

    number = run_service(tmp_path, create)
    execute(tmp_path, "UPDATE agents SET deleted_at = 1")
    run_service(tmp_path, nothing)
    assert not any(rows_of(tmp_path, number).values())


def test_agents_are_listed_in_the_order_they_were_made(tmp_path):
    async def use(container):
        made = [await new_agent(container) for _ in range(3)]
        await container.registry.delete(made[1].id)
        made.append(await new_agent(container))
        rows = await container.database.read(agents.agent_page, None, 0, 10)
        assert [row.id for row in rows] == [made[0].number, made[2].number, made[3].number]
        assert [row.position for row in rows] == sorted({row.position for row in rows})

    run_service(tmp_path, use)


def test_rows_whose_agent_is_gone_are_removed_at_start(tmp_path):
    async def play_two(container):
        agent, other = await new_agent(container), await new_agent(container)
        await finished_episode(container, agent)
        await finished_episode(container, other)
        return agent.number, other.number

    gone, kept = run_service(tmp_path, play_two)
    before = rows_of(tmp_path, kept)
    execute(tmp_path, "DELETE FROM agents WHERE id = :id", id=gone)
    assert sum(rows_of(tmp_path, gone).values()) > 0

    async def look(container):
        assert set(rows_of(tmp_path, gone).values()) == {0}
        assert rows_of(tmp_path, kept) == before

    run_service(tmp_path, look)
