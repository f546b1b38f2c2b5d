"""Housekeeping: overdue labels are given, idle agents leave memory, and failures do not end it."""

import asyncio

import pytest

from app.errors import StorageUnavailable
from app.service.runtime import housekeeping
from app.storage.queries import episodes
from app.storage.rows import EpisodeStatus
from tests.support.service import finished_episode, learned, new_agent, run_service

SOON = {"label_timeout": "PT0.2S", "default_label": 0}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(housekeeping, "_TICK_SECONDS", 0.01)


async def status(container, episode):
    agent, number = episode.agent.number, episode.number
    stored = await container.database.read(episodes.stored_episode, agent, number)
    return stored.row.status, stored.row.label


async def until(condition):
    while not await condition():
        await asyncio.sleep(0.02)


def test_an_overdue_episode_gets_its_default_label(tmp_path):
    async def use(container):
        episode = await finished_episode(container, await new_agent(container, **SOON))

        async def labelled():
            return await status(container, episode) == (EpisodeStatus.labelled, 0)

        await until(labelled)

    run_service(tmp_path, use)


def test_an_agent_that_nobody_uses_leaves_memory_and_comes_back(tmp_path):
    async def use(container):
        agent = await new_agent(container)
        await learned(container, agent)

        async def dropped():
            return agent.number not in container.cache.agents

        await until(dropped)
        found = await container.registry.find(agent.id)
        assert found is not agent
        assert (found.version, set(found.plans)) == (agent.version, set(agent.plans))

    run_service(tmp_path, use, idle_seconds=0.05)


@pytest.mark.parametrize("error", [StorageUnavailable("full"), RuntimeError("a bug")])
def test_a_failure_is_logged_and_the_next_tick_works(tmp_path, monkeypatch, caplog, error):
    failures = []
    expire = housekeeping.expire_labels

    async def fails_once(database, labels):
        if not failures:
            failures.append(error)
            raise error
        await expire(database, labels)

    monkeypatch.setattr(housekeeping, "expire_labels", fails_once)

    async def use(container):
        episode = await finished_episode(container, await new_agent(container, **SOON))

        async def labelled():
            return (await status(container, episode))[0] is EpisodeStatus.labelled

        await until(labelled)

    run_service(tmp_path, use)
    assert failures == [error]
    assert any("housekeeping failed" in record.message for record in caplog.records)
