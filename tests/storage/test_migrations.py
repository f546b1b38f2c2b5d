"""Migrations on a real database: there and back, and the tables of the code are those on disk."""

import os

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Integer, MetaData, Table, inspect

from app.errors import StorageUnavailable
from app.storage import migrations
from app.storage.blobs.folder import FolderBlobs
from app.storage.queries import episodes, events, recordings
from app.storage.rows import EpisodeStatus, EventKind, EventRow
from app.storage.schema import metadata
from tests.support import template
from tests.support.databases import database_url, on_postgres, writing_engine


@pytest.fixture
def engine(tmp_path):
    with writing_engine(database_url(tmp_path)) as engine:
        yield engine


SCHEMA = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE tbl_name != 'alembic_version' "
    "ORDER BY name",
    "postgresql": "SELECT table_name, column_name, data_type, is_nullable, column_default, "
    "character_maximum_length FROM information_schema.columns "
    "WHERE table_schema = 'public' AND table_name != 'alembic_version' "
    "UNION ALL SELECT tablename, indexname, indexdef, '', '', 0 FROM pg_indexes "
    "WHERE schemaname = 'public' AND tablename != 'alembic_version' ORDER BY 1, 2",
}


def tables(engine):
    return set(inspect(engine).get_table_names()) - {"alembic_version"}


def schema(engine):
    """Everything that makes the database what it is."""
    with engine.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(SCHEMA[engine.dialect.name])]


def differences(engine, wanted=metadata):
    """What autogenerate would write into a new migration."""
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        return compare_metadata(context, wanted)


def revisions():
    """Every revision, oldest first."""
    scripts = ScriptDirectory.from_config(migrations._config(None))
    return [script.revision for script in scripts.walk_revisions()][::-1]


def test_a_new_file_gets_every_table(engine):
    assert migrations.current_revision(engine) is None
    migrations.migrate(engine)
    assert migrations.current_revision(engine) == migrations.newest_revision() == revisions()[-1]
    assert tables(engine) == set(metadata.tables)


def test_autogenerate_finds_nothing(engine):
    migrations.migrate(engine)
    assert differences(engine) == []


def test_autogenerate_would_find_a_table_that_no_migration_makes(engine):
    migrations.migrate(engine)
    wanted = MetaData()
    for table in metadata.tables.values():
        table.to_metadata(wanted)
    forgotten = Table("forgotten", wanted, Column("id", Integer, primary_key=True))
    found = differences(engine, wanted)
    assert [(kind, table.name) for kind, table in found] == [("add_table", forgotten.name)]


def test_down_to_nothing_and_up_again_gives_the_same(engine):
    migrations.migrate(engine)
    before = schema(engine)
    migrations.downgrade(engine, "base")
    assert tables(engine) == set()
    migrations.migrate(engine)
    assert schema(engine) == before


def test_every_migration_can_be_taken_back(engine):
    seen = []
    for revision in revisions():
        seen.append(schema(engine))
        migrations.migrate(engine, revision)
    for revision in ["base", *revisions()][-2::-1]:
        migrations.downgrade(engine, revision)
        assert schema(engine) == seen.pop()


def test_rows_survive_a_migration_that_has_nothing_to_do(engine):
    migrations.migrate(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO keys VALUES ('key_1', 'robot', 'actor', 'digest', 1, NULL, NULL)"
        )
    migrations.migrate(engine)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT name FROM keys").scalar() == "robot"


def test_the_command_makes_the_database(tmp_path):
    url = database_url(tmp_path / "new")
    for _ in range(2):  # the second time there is nothing to do
        done = template.run(["migrate", "--database-url", url], dict(os.environ))
        assert (done.returncode, done.stdout) == (0, f"{url} is up to date\n")
    with writing_engine(url) as engine:
        assert migrations.current_revision(engine) == migrations.newest_revision()
        assert differences(engine) == []


FIRST_RELEASE = [
    "INSERT INTO agents VALUES (1, 1, 'lake', '{}', '{}', NULL, false, 5, NULL, 2, 1, 0, 1, 0, 0, "
    '1, 3, 2, 2, 2, NULL, \'{"progress": {}, "warnings": []}\')',
    "INSERT INTO episodes VALUES (1, 0, 'run-1', 'learn', 'labelled', true, 0, NULL, 2, true, 3, "
    "NULL, 1, 1, 1, NULL, '{}', 5, 6, 7)",
    "INSERT INTO episodes VALUES (1, 1, NULL, 'learn', 'running', true, 2, 0, NULL, false, NULL, "
    "NULL, 1, 0, NULL, NULL, '{}', 8, NULL, NULL)",
    "INSERT INTO steps VALUES (1, 0, 0, 2, 1, NULL)",
    "INSERT INTO journal VALUES (1, 1, 0, 1, 3, 0, NULL)",
    "INSERT INTO journal VALUES (2, 1, 1, 0, 2, 1, '[0.5]')",
    "INSERT INTO labels VALUES (1, 1, 0, 0, 1, 'Ada', 'clean', 7)",
    "INSERT INTO events VALUES (1, 1, 'finished', 0, 1, NULL, 6)",
    "INSERT INTO events VALUES (1, 2, 'labelled', 0, 1, 0, 7)",
    "INSERT INTO events VALUES (1, 3, 'policy', NULL, 2, NULL, 7)",
]


def test_a_database_of_the_first_schema_keeps_everything(engine):
    migrations.migrate(engine, "0001")
    with engine.begin() as connection:
        for statement in FIRST_RELEASE:
            connection.exec_driver_sql(statement)
    migrations.migrate(engine)
    with engine.connect() as connection:
        stored = episodes.stored_episode(connection, 1, 0)
        running = episodes.stored_episode(connection, 1, 1)
        log = events.event_rows(connection, 1, 0, 10)
    assert (stored.row.label, stored.row.labels_given, stored.row.version) == (1, 1, 0)
    assert [(step.step, step.state, step.action) for step in stored.steps] == [(0, 2, 1), (1, 3, 0)]
    assert [(row.slot, row.label, row.labeller) for row in stored.history] == [(0, 1, "Ada")]
    assert running.row.status is EpisodeStatus.running
    assert [step.observation for step in running.steps] == [[0.5]]
    assert log == [
        EventRow(1, 1, EventKind.finished, 0, None, None, True, None, 6),
        EventRow(1, 2, EventKind.labelled, 0, 0, 1, None, None, 7),
        EventRow(1, 3, EventKind.policy, None, None, None, None, 2, 7),
    ]


def test_episodes_get_the_order_of_their_times(engine):
    migrations.migrate(engine, "0008")
    columns = "agent, number, mode, status, label_required, policy_version, ended, labels_wanted, "
    columns += "labels_given, metadata, created_at"
    with engine.begin() as connection:
        for agent, number, at in ((2, 0, 30), (1, 0, 10), (1, 1, 30), (3, 0, 20)):
            values = f"{agent}, {number}, 'learn', 'running', true, 0, false, 1, 0, '{{}}', {at}"
            connection.exec_driver_sql(f"INSERT INTO episodes ({columns}) VALUES ({values})")
    migrations.migrate(engine)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT agent, number FROM episodes ORDER BY position")
        assert [tuple(row) for row in rows] == [(1, 0), (3, 0), (1, 1), (2, 0)]


def test_the_first_schema_comes_back_with_its_events(engine):
    migrations.migrate(engine, "0001")
    with engine.begin() as connection:
        for statement in FIRST_RELEASE:
            connection.exec_driver_sql(statement)
        before = [tuple(row) for row in connection.exec_driver_sql("SELECT * FROM events")]
    migrations.migrate(engine)
    migrations.downgrade(engine, "0001")
    with engine.connect() as connection:
        after = [tuple(row) for row in connection.exec_driver_sql("SELECT * FROM events")]
    assert after == before


PICTURE = bytes(range(256)) * 40_000  # several pieces


def recording_in_the_database(engine):
    """A database of the second schema with one recording in its table."""
    migrations.migrate(engine, "0002")
    with engine.begin() as connection:
        row = (1, 4, "image/png", len(PICTURE), PICTURE, 5)
        marks = ", ".join(["%s" if on_postgres() else "?"] * len(row))
        connection.exec_driver_sql(f"INSERT INTO recordings VALUES ({marks})", row)


def test_recordings_of_an_older_database_become_files(engine, tmp_path):
    recording_in_the_database(engine)
    blobs = FolderBlobs(tmp_path / "chosen")
    migrations.migrate(engine, blobs=blobs)
    with engine.connect() as connection:
        row = recordings.recording_row(connection, 1, 4)
    assert (row.media_type, row.size, row.at) == ("image/png", len(PICTURE), 5)
    with blobs.open(row.blob) as file:
        assert file.read(0, len(PICTURE) + 1) == PICTURE
    migrations.downgrade(engine, "0002", blobs)
    with engine.connect() as connection:
        content = connection.exec_driver_sql("SELECT content FROM recordings").scalar()
    assert content == PICTURE


def test_a_recording_that_cannot_become_a_file_stays_in_the_database(engine, tmp_path):
    recording_in_the_database(engine)
    (tmp_path / "chosen").write_text("not a folder")
    with pytest.raises(StorageUnavailable):
        migrations.migrate(engine, blobs=FolderBlobs(tmp_path / "chosen"))
    assert migrations.current_revision(engine) == "0002"
    with engine.connect() as connection:
        content = connection.exec_driver_sql("SELECT content FROM recordings").scalar()
    assert content == PICTURE
