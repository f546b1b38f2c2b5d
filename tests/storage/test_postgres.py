"""PostgreSQL: locks, lost connections, and steps that another process has taken."""

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from sqlalchemy import text

from app.errors import InvalidValue, Stale, StorageUnavailable, UnsafeStart
from app.storage.backend import backend_of, shown
from app.storage.blobs.recordings import recordings_folder
from app.storage.database import Database, prepare_database
from app.storage.migrations import current_revision, newest_revision
from app.storage.queries.agents import is_readable
from app.storage.queries.steps import step_rows
from app.storage.unit_of_work import UnitOfWork
from tests.support import template
from tests.support.databases import PostgresServer, database_url, execute, writing_engine

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(tmp_path):
    return database_url(tmp_path)


@dataclass(frozen=True)
class Fail:
    """A command that cannot be stored."""

    def apply(self, connection):
        raise Stale("decided from an old state")


def run(url, use):
    """Run a coroutine with an open database."""

    async def opened():
        database = Database(url)
        try:
            return await asyncio.wait_for(use(database), 60)
        finally:
            await database.close()

    prepare_database(url)
    return asyncio.run(opened())


def steps(*keys, state=0):
    return UnitOfWork(steps=[(*key, state, 1, None) for key in keys])


def test_concurrent_migrations_wait_for_each_other(url):
    with ThreadPoolExecutor(4) as threads:
        command = ["migrate", "--database-url", url]
        starts = [threads.submit(template.run, command, dict(os.environ)) for _ in range(4)]
    assert [start.result().returncode for start in starts] == [0] * 4
    with writing_engine(url) as engine:
        assert current_revision(engine) == newest_revision()


def test_a_second_server_is_refused_and_may_start_once_the_first_has_stopped(url, monkeypatch):
    monkeypatch.setattr("app.storage.postgres.locks._PATIENCE_SECONDS", 0.2)

    async def use(_database):
        with pytest.raises(UnsafeStart, match="another server is using this database"):
            Database(url)

    run(url, use)
    run(url, lambda database: database.read(is_readable))


def test_a_taken_step_is_stale_and_the_rest_of_its_batch_is_stored(url, tmp_path):
    async def use(database):
        await database.writer.submit(steps((1, 0, 0)))
        units = [
            steps((1, 0, 1)),
            steps((1, 0, 0), state=5),  # taken
            steps((1, 1, 0), (1, 0, 0)),  # half of it is taken, so none of it is stored
            UnitOfWork([(1, 2, 0, 0, 1, None)], [Fail()]),
            steps((2, 0, 0)),
        ]
        with writing_engine(url) as engine, engine.begin() as connection:
            connection.execute(text("LOCK TABLE steps IN SHARE MODE"))
            done = [database.writer.submit(unit) for unit in units]
            await asyncio.sleep(0.2)
        return await asyncio.gather(*done, return_exceptions=True)

    ends = run(url, use)
    assert [type(end) for end in ends] == [list, Stale, Stale, Stale, list]
    stored = execute(tmp_path, "SELECT agent, episode, step, state FROM steps ORDER BY 1, 2, 3")
    assert stored == [(1, 0, 0, 0), (1, 0, 1, 0), (2, 0, 0, 0)]


def test_a_step_twice_in_one_batch_is_stored_once(url, tmp_path):
    async def use(database):
        with writing_engine(url) as engine, engine.begin() as connection:
            connection.execute(text("LOCK TABLE steps IN SHARE MODE"))
            done = [database.writer.submit(steps((1, 0, 0), state=state)) for state in (3, 4, 4)]
            await asyncio.sleep(0.2)
        return await asyncio.gather(*done, return_exceptions=True)

    ends = run(url, use)
    assert sorted(type(end).__name__ for end in ends) == ["Stale", "Stale", "list"]
    assert execute(tmp_path, "SELECT count(*) FROM steps") == [(1,)]


@pytest.mark.parametrize("observation", [None, "[0.5, -1e-300, 3]", "[]"])
def test_observations_come_back_as_they_were(url, observation):
    async def use(database):
        await database.writer.submit(
            UnitOfWork([(1, 0, 0, 2, 1, observation), (1, 0, 1, 3, 0, None)])
        )
        return await database.read(step_rows, 1, 0)

    first, second = run(url, use)
    assert first.observation == (None if observation is None else json.loads(observation))
    assert second.observation is None


def test_lost_connections_are_opened_again(url, tmp_path):
    """As after a restart of the database, or a firewall that ends idle connections."""

    async def use(database):
        await database.read(is_readable)
        await database.writer.submit(steps((1, 0, 0)))
        execute(
            tmp_path,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid != pg_backend_pid() AND datname = current_database()",
        )
        await database.writer.submit(steps((1, 0, 1)))
        return await database.read(step_rows, 1, 0)

    assert len(run(url, use)) == 2


def test_while_the_database_is_down_writes_fail_at_once_and_later_they_work():
    with PostgresServer() as server:

        async def use(database):
            await database.writer.submit(steps((1, 0, 0)))
            await asyncio.to_thread(server.kill)
            done = [database.writer.submit(steps((1, 0, step))) for step in range(1, 50)]
            ends = await asyncio.gather(*done, return_exceptions=True)
            assert {type(end) for end in ends} == {StorageUnavailable}
            with pytest.raises(StorageUnavailable):
                await database.read(is_readable)
            await asyncio.to_thread(server.start)
            await database.writer.submit(steps((1, 0, 1)))
            return await database.read(step_rows, 1, 0)

        assert [row.step for row in run(server.url, use)] == [0, 1]


def test_a_server_uses_a_bounded_number_of_connections(url, tmp_path):
    async def use(database):
        reads = [database.read(is_readable) for _ in range(100)]
        await asyncio.gather(
            *reads, *(database.writer.submit(steps((1, 0, i))) for i in range(100))
        )
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        return execute(tmp_path, query)[0][0] - 1  # the one that asks

    assert run(url, use) <= 5


def test_a_commit_is_on_disk_unless_the_operator_says_otherwise(url):
    for synchronous, setting in (("FULL", "on"), ("NORMAL", "off")):
        with (
            backend_of(url).serving_engine(url, synchronous, None) as engine,
            engine.connect() as opened,
        ):
            assert opened.execute(text("SHOW synchronous_commit")).scalar() == setting


def test_the_password_is_shown_nowhere():
    assert shown("postgresql+psycopg://ann:secret@db/plaudit").endswith("//ann:***@db/plaudit")
    with pytest.raises(UnsafeStart) as refused:
        prepare_database("postgresql+psycopg://ann:secret@127.0.0.1:1/plaudit")
    assert "secret" not in str(refused.value)


def test_another_driver_is_refused():
    with pytest.raises(InvalidValue):
        prepare_database("postgresql+asyncpg://ann@127.0.0.1/plaudit")


def test_recordings_have_a_folder_for_each_database():
    folder = recordings_folder("postgresql://ann@127.0.0.1/arms", None)
    assert (folder.parent.name, folder.name) == ("data", "arms.recordings")
