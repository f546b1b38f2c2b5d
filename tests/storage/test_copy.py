"""`plaudit copy`: everything arrives, also after an interruption, and no data is overwritten."""

import os
from contextlib import suppress

import pytest
from sqlalchemy import JSON, BigInteger, Boolean, Enum, Float, Integer, LargeBinary, select

from app.errors import InvalidValue, StorageUnavailable, UnsafeStart
from app.storage.backend import backend_of
from app.storage.blobs.folder import FolderBlobs
from app.storage.column_types import Document, Numbers
from app.storage.copy import Place, copy_database
from app.storage.database import prepare_database
from app.storage.schema import agents, labels, metadata, recordings
from tests.support import template
from tests.support.databases import database_url, recordings_of, writing_engine

ROWS = 1100  # of each table: more than are copied at once
RECORDINGS = 3


@pytest.fixture
def source(tmp_path):
    """A SQLite file with rows in every table, and some recordings."""
    place = Place(f"sqlite:///{tmp_path}/source.db", tmp_path / "source.recordings")
    prepare_database(place.url)
    with writing_engine(place.url) as engine, engine.begin() as connection:
        for table in metadata.sorted_tables:
            count = RECORDINGS if table is recordings else ROWS
            connection.execute(table.insert(), [row_of(table, i) for i in range(1, count + 1)])
    for i in range(1, RECORDINGS + 1):
        writer = FolderBlobs(place.recordings).create(f"{i}/{i}")
        writer.write(b"film" * i)
        writer.commit()
    return place


@pytest.fixture
def target(tmp_path):
    """An empty database of the kind that the tests run on."""
    return Place(database_url(tmp_path / "target"), recordings_of(tmp_path / "target"))


def row_of(table, i):
    """A row with a value, or nothing, in every column."""
    own = {"blob": f"{i}/{i}", "size": 4 * i} if table is recordings else {}
    return {column.key: value_of(column, i) for column in table.c} | own


def value_of(column, i):
    if column.nullable and i % 3 == 0:
        return None
    values = {
        Enum: lambda: next(iter(column.type.enum_class)),
        Boolean: lambda: i % 2 == 0,
        BigInteger: lambda: i if column.primary_key else 2**40 + i,
        Integer: lambda: i,
        Float: lambda: i / 3,
        Document: lambda: {"n": i, "é\n": [1.5, None, "\0"]},
        Numbers: lambda: [i / 7, -1e-300],
        JSON: lambda: [i],
        LargeBinary: lambda: i.to_bytes(2) * 3,
    }
    for kind, value in values.items():
        if isinstance(column.type, kind) or isinstance(getattr(column.type, "impl", None), kind):
            return value()
    return f"{column.name} {i} é"[: column.type.length]


def rows_of(place, table):
    engine = backend_of(place.url).reading_engine(place.url, 1)
    with engine.connect() as connection:
        rows = [tuple(row) for row in connection.execute(select(table))]
    engine.dispose()
    return sorted(rows, key=repr)


def test_everything_arrives_and_comes_back(source, target, tmp_path):
    seen = []
    assert copy_database(source, target, lambda *done: seen.append(done)) == sum(
        len(rows_of(source, table)) for table in metadata.sorted_tables
    )
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]
    back = Place(f"sqlite:///{tmp_path}/back.db", tmp_path / "back.recordings")
    copy_database(target, back, lambda *_: None)
    for table in metadata.sorted_tables:
        assert rows_of(source, table) == rows_of(target, table) == rows_of(back, table), table.name
    with FolderBlobs(back.recordings).open("3/3") as film:
        assert film.read(0, 100) == b"filmfilmfilm"


def test_new_rows_are_numbered_after_the_copied_ones(source, target):
    copy_database(source, target, lambda *_: None)
    with writing_engine(target.url) as engine, engine.begin() as connection:
        row = row_of(labels, 1)
        del row["id"]
        connection.execute(labels.insert(), row)
        newest = select(labels.c.id).order_by(labels.c.id.desc()).limit(1)
        assert connection.execute(newest).scalar() == ROWS + 1


@pytest.mark.parametrize("at", [1, 1000, 5500, 3 * ROWS + 1])
def test_an_interrupted_copy_is_refused_by_servers_and_continues(source, target, at):
    def interrupt(done, _total):
        if done >= at:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        copy_database(source, target, interrupt)
        pytest.fail("it was not interrupted")
    with pytest.raises(UnsafeStart, match="was interrupted; run it again"):
        prepare_database(target.url)
    copy_database(source, target, lambda *_: None)
    prepare_database(target.url)
    for table in metadata.sorted_tables:
        assert rows_of(source, table) == rows_of(target, table), table.name


def test_a_source_that_changed_in_between_is_noticed(source, target):
    def interrupt(done, _total):
        if done >= 4 * ROWS:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        copy_database(source, target, interrupt)
    with writing_engine(source.url) as engine, engine.begin() as connection:
        connection.execute(agents.update().where(agents.c.id == 7).values(name="changed"))
    with pytest.raises(StorageUnavailable, match="the table agents differs"):
        copy_database(source, target, lambda *_: None)


def test_a_target_with_data_is_left_alone(source, target):
    copy_database(source, target, lambda *_: None)
    for _ in range(2):
        with pytest.raises(StorageUnavailable, match="has other data"):
            copy_database(source, target, lambda *_: None)
    assert len(rows_of(target, labels)) == ROWS


def test_a_database_is_not_copied_to_itself(source):
    with pytest.raises(InvalidValue):
        copy_database(source, source, lambda *_: None)


def test_a_missing_recording_is_named(source, target):
    FolderBlobs(source.recordings).delete("2/2")
    with pytest.raises(StorageUnavailable, match="recording 2/2 has no file"):
        copy_database(source, target, lambda *_: None)


def test_the_command(source, target):
    options = ["--source-recordings", str(source.recordings)]
    options += ["--target-recordings", str(target.recordings)]
    command = ["copy", source.url, target.url, *options]
    done = template.run(command, dict(os.environ) | {"COLUMNS": "400"})
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{target.url} is a copy of {source.url}: " in done.stdout
    again = template.run(command, dict(os.environ) | {"COLUMNS": "400"})
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
