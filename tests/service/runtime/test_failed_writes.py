"""What the database does not take has not happened, also for whoever comes at that very moment."""

import asyncio
import sqlite3

import pytest

from app.errors import StorageUnavailable
from app.metrics import Metrics
from app.service.agents.specification import read_specification
from app.service.runtime.container import open_container
from app.settings import Settings
from app.storage.database import prepare_database
from app.storage.queries import reading
from app.storage.sqlite import engine

SPECIFICATION = {
    "states": {"kind": "discrete", "n": 4},
    "actions": {"kind": "discrete", "n": 2},
    "horizon": 5,
    "algorithm": {"kind": "uniform"},
}


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_a_step_that_failed_is_not_answered_as_a_retry(tmp_path, monkeypatch, many):
    monkeypatch.setattr(engine, "BUSY_MILLISECONDS", 50)
    file = tmp_path / "plaudit.db"
    settings = Settings(database_url=f"sqlite:///{file}", learning_processes=1)
    prepare_database(settings.database_url)
    asyncio.run(_step_twice(settings, file, many))


async def _step_twice(settings, file, many):
    async with open_container(settings, Metrics()) as host:
        agent = await host.roster.create("still", read_specification(SPECIFICATION), {}, None)
        await host.learning.wait(agent, 60)
        episode = await host.play.start(agent, "learn", False, None, {})
        while agent.learning != "idle":  # nobody else writes
            await asyncio.sleep(0.05)
        blocker = sqlite3.connect(file, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        first = asyncio.create_task(host.stepping.step(episode.id, 0, 1))
        await asyncio.sleep(0)
        while not episode.pending.done():  # the next in turn is whoever asks now, not `first`
            await asyncio.sleep(0)
        blocker.execute("ROLLBACK")
        blocker.close()
        if many:
            [(_, taken)] = await host.stepping.step_many([_Entry(episode.id)])
        else:
            taken = await host.stepping.step(episode.id, 0, 1)
        assert taken.is_new
        with pytest.raises(StorageUnavailable):
            await first
        rows = await host.database.read(reading.step_rows, agent.number, episode.number)
        assert [(row.step, row.state, row.action) for row in rows] == [(0, 1, taken.action)]


class _Entry:
    step, state = 0, 1

    def __init__(self, episode):
        self.episode = episode
