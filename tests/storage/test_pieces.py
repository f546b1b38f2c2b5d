"""Large bytes are stored in pieces, between which other writes take their turn."""

import asyncio

import pytest
from sqlalchemy import text

from app.storage import pieces as module
from app.storage.pieces import cut
from app.storage.queries import policies, training
from app.wire.steps import Step
from tests.support.service import finished_episode, learned, new_agent, new_episode, run_service


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(module, "PIECE_BYTES", 100)


def counted(connection, agent):
    query = text("SELECT count(*) FROM pieces WHERE agent = :agent")
    return connection.execute(query, {"agent": agent}).scalar()


def stored_policies(connection, agent):
    query = text("SELECT policy FROM plans WHERE agent = :agent")
    return connection.execute(query, {"agent": agent}).scalars().all()


def test_small_bytes_stay_as_they_are():
    assert cut(1, b"small") == ([], b"small")


@pytest.mark.parametrize("size", [101, 200, 250])
def test_pieces_are_small_and_whole(small_pieces, size):
    content = bytes(range(250))[:size]
    commands, reference = cut(1, content)
    assert b"".join(command.content for command in commands) == content
    assert max(len(command.content) for command in commands) <= 100
    assert [command.place for command in commands] == list(range(len(commands)))
    assert len(reference) < 20


def test_an_agent_lives_in_pieces(tmp_path, small_pieces):
    """It plans, is loaded again, learns more, and what is no longer used is removed."""

    async def use(container):
        read = container.database.read
        agent = await new_agent(container, algorithm={"kind": "thompson"})
        assert all(len(policy) < 20 for policy in await read(stored_policies, agent.number))
        plans = await read(policies.plan_rows, agent.number, agent.version)
        assert min(len(plan.policy) for plan in plans) > 100
        first = await read(counted, agent.number)
        for _ in range(3):
            await finished_episode(container, agent)
            container.trainer.request(agent)
            await learned(container, agent)
        assert agent.version > 0
        assert await read(counted, agent.number) < 3 * first  # those of older versions are gone
        container.cache.forget_agent(agent.number)
        again = await container.cache.agent(agent.number)
        assert again.plans.keys() == agent.plans.keys()
        assert await container.cache.insight(again) is not None
        snapshot, _ = await read(training.newest_snapshot, agent.number)
        assert len(snapshot) > 100
        await new_episode(container, again)
        assert len((await read(training.pending_policies, again.number))[0]) > 100
        await container.registry.delete(again.id)
        while await read(counted, agent.number):
            await asyncio.sleep(0.01)

    run_service(tmp_path, use)


def test_leftover_pieces_are_removed_and_those_in_use_kept(tmp_path, small_pieces):
    async def use(container):
        agent = await new_agent(container, algorithm={"kind": "thompson"})
        before = await container.database.read(counted, agent.number)
        await container.database.store_large(agent.number, bytes(5000))  # then a crash
        assert await container.database.read(counted, agent.number) == before + 50
        await container.database.drop_pieces(agent.number)
        assert await container.database.read(counted, agent.number) == before

    run_service(tmp_path, use)


def test_other_writes_come_between_the_pieces(tmp_path, small_pieces):
    """A step that is sent while large bytes are stored does not wait for all of them."""

    async def use(container):
        agent = await new_agent(container)
        episode = await new_episode(container, agent)
        storing = asyncio.create_task(container.database.store_large(agent.number, bytes(50_000)))
        await asyncio.sleep(0)
        await container.stepping.step(episode.id, Step(step=0, state=1))
        assert not storing.done()
        await storing

    run_service(tmp_path, use)
