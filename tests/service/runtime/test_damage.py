"""Damaged blobs are discarded and rebuilt from the log; one agent's damage reaches no other."""

import asyncio

import pytest

from app.errors import NotFound, StorageUnavailable
from app.service.access.visibility import EVERY_AGENT
from app.service.labelling.slots import GivenLabel
from app.storage.queries import agents, policies
from app.wire.steps import Step
from tests.support.databases import execute
from tests.support.service import (
    finished_episode,
    learned,
    new_agent,
    new_episode,
    run_service,
)

THOMPSON = {"algorithm": {"kind": "thompson"}, "seed": 3}


def damage(folder, table, column, agent):
    """Flip a byte in the middle of every blob of an agent."""
    query = f"SELECT DISTINCT {column} FROM {table} WHERE agent = :agent"
    for (content,) in execute(folder, query, agent=agent.number):
        middle = len(content) // 2
        flipped = bytes([content[middle] ^ 0xFF])
        bad = content[:middle] + flipped + content[middle + 1 :]
        update = f"UPDATE {table} SET {column} = :bad WHERE agent = :agent AND {column} = :content"
        execute(folder, update, bad=bad, agent=agent.number, content=content)


async def taught_agent(container):
    """An agent with one label learned."""
    agent = await new_agent(container, **THOMPSON)
    episode = await finished_episode(container, agent)
    await container.labels.give(episode.id, GivenLabel(1))
    await learned(container, agent)
    return agent


async def reloaded(container, agent):
    container.cache.forget_agent(agent.number)
    return await container.cache.agent(agent.number)


async def plan_bytes(container, agent):
    rows = await container.database.read(policies.plan_rows, agent.number, agent.version)
    return {row.episode: row.policy for row in rows}


def test_damaged_plans_are_made_again_from_the_log(tmp_path, caplog):
    async def use(container):
        agent = await taught_agent(container)
        before = await plan_bytes(container, agent)
        damage(tmp_path, "plans", "policy", agent)
        agent = await reloaded(container, agent)
        assert agent.plans == {}  # random actions, until there are new ones
        await learned(container, agent)
        assert set(agent.plans) >= {-1}
        episode = await new_episode(container, agent, wait=True)
        assert episode.plan.policy.kind != "uniform"
        after = await plan_bytes(container, agent)
        assert after[-1] == before[-1]
        assert set(before) <= set(after)
        caplog.clear()
        await reloaded(container, agent)
        assert "plan discarded" not in caplog.messages

    run_service(tmp_path, use)


def test_publishing_replaces_damaged_plans_that_could_not_be_discarded(tmp_path, monkeypatch):
    async def use(container):
        agent = await taught_agent(container)
        before = await plan_bytes(container, agent)
        damage(tmp_path, "plans", "policy", agent)
        with monkeypatch.context() as patch:  # the disk is full when the damage is noticed
            patch.setattr(container.cache, "_discard", noticed)
            agent = await reloaded(container, agent)
        assert agent.plans == {}
        container.trainer.request(agent)
        await learned(container, agent)
        after = await plan_bytes(container, agent)
        assert after[-1] == before[-1]
        assert agent.plans

    async def noticed(agent, version, damaged):
        assert damaged

    run_service(tmp_path, use)


def test_a_running_episode_whose_plan_is_damaged_continues(tmp_path):
    async def use(container):
        agent = await taught_agent(container)
        episode = await new_episode(container, agent)
        await container.stepping.step(episode.id, Step(step=0, state=1))
        damage(tmp_path, "plans", "policy", agent)
        await reloaded(container, agent)
        taken = await container.stepping.step(episode.id, Step(step=1, state=2))
        assert taken.episode.length == 2

    run_service(tmp_path, use)


def test_learning_does_without_the_damaged_plan_of_a_running_episode(tmp_path):
    async def use(container):
        agent = await taught_agent(container)
        await new_episode(container, agent)
        damage(tmp_path, "plans", "policy", agent)
        other = await finished_episode(container, agent)
        await container.labels.give(other.id, GivenLabel(0))
        await learned(container, agent)
        assert agent.learning_error is None
        assert not agent.behind

    run_service(tmp_path, use)


def test_a_damaged_insight_is_made_again_and_the_labellers_page_works(tmp_path, caplog):
    async def use(container):
        agent, other = await taught_agent(container), await taught_agent(container)
        damage(tmp_path, "knowledge", "insight", agent)
        agent = await reloaded(container, agent)
        report = await container.views.labellers.report(EVERY_AGENT)
        assert report.changes == 2
        assert await container.cache.insight(agent) is None
        assert await container.cache.insight(other) is not None
        assert caplog.messages.count("insight discarded") == 1
        await learned(container, agent)
        agent = await reloaded(container, agent)
        assert await container.cache.insight(agent) is not None

    run_service(tmp_path, use)


def test_a_damaged_snapshot_is_made_again_from_the_log(tmp_path):
    async def first(container):
        agent = await taught_agent(container)
        damage(tmp_path, "knowledge", "snapshot", agent)
        return agent.number

    async def second(container):
        agent = await container.cache.agent(number)
        episode = await finished_episode(container, agent)
        await container.labels.give(episode.id, GivenLabel(1))
        await learned(container, agent)
        assert agent.learning_error is None
        assert not agent.behind

    number = run_service(tmp_path, first)
    run_service(tmp_path, second)


@pytest.mark.parametrize(
    "bad", [pytest.param("{broken", marks=pytest.mark.sqlite), "{}", '{"states": 4}']
)
def test_a_damaged_specification_stays_with_its_agent(tmp_path, bad, caplog):
    async def first(container):
        agent, other = await new_agent(container), await taught_agent(container)
        await finished_episode(container, agent)
        spoil = "UPDATE agents SET specification = :bad, last_lesson = 9 WHERE id = :id"
        execute(tmp_path, spoil, bad=bad, id=agent.number)
        return agent.id, other.id, agent.number

    async def second(container):
        for _ in range(2):
            page = await container.views.agents.page(EVERY_AGENT, 0, 10)
            assert [view.id for view in page.items] == [other]
        assert caplog.messages.count("the specification of an agent is damaged") == 1
        cards, total = await container.views.agents.cards(EVERY_AGENT, 0, 10, "")
        assert total == 2 == len(cards)
        with pytest.raises(StorageUnavailable, match="Restore a backup, or delete"):
            await container.views.agents.read(damaged)
        assert (await container.views.agents.read(other)).id == other
        await container.ranking.all(None)
        await container.views.episodes.page(EVERY_AGENT, None, None, None, True, None, 10)
        await container.registry.delete(damaged)
        with pytest.raises(NotFound):
            await container.views.agents.read(damaged)
        while await container.database.read(agents.agents_deleted):
            await asyncio.sleep(0.01)

    damaged, other, _ = run_service(tmp_path, first)
    run_service(tmp_path, second)
