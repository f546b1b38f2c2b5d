"""Copying a whole database to another one, of the same kind or not, with its recordings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Integer,
    Select,
    Table,
    delete,
    func,
    insert,
    literal,
    select,
    tuple_,
)
from sqlalchemy.exc import SQLAlchemyError

from app.errors import InvalidValue, NotFound, StorageUnavailable
from app.storage.backend import backend_in_use, backend_of, reason_of, shown
from app.storage.blobs.base import BlobStore
from app.storage.blobs.copy import copy_blob
from app.storage.blobs.folder import FolderBlobs
from app.storage.database import closing_engine, prepare_database
from app.storage.migrations import current_revision, newest_revision
from app.storage.queries.access import UNFINISHED_COPY
from app.storage.schema import metadata, recordings, secrets
from app.storage.upsert import insert_or_ignore

Progress = Callable[[int, int], None]
"""Called with the rows and recordings copied so far, and how many there are."""

_ROWS_AT_ONCE = 1000
_is_data = secrets.c.name != UNFINISHED_COPY


@dataclass(frozen=True, slots=True)
class Place:
    """A database and the folder of its recordings."""

    url: str
    recordings: Path


def copy_database(source: Place, target: Place, progress: Progress) -> int:
    """Copy everything to a database that is empty; returns the number of rows.

    No server may be using either of them. A copy that was interrupted continues where it stopped.
    At the end the rows of both are counted and compared by a checksum.
    """
    if shown(source.url) == shown(target.url):
        raise InvalidValue("target", "another database than the source")
    prepare_database(target.url, str(target.recordings), may_be_unfinished=True)
    try:
        with _opened(source, target) as (reading, writing):
            return _copy(reading, writing, source, target, progress)
    except SQLAlchemyError as error:
        raise StorageUnavailable(f"the copy failed: {reason_of(error)}") from error


@contextmanager
def _opened(source: Place, target: Place) -> Iterator[tuple[Engine, Engine]]:
    """Engines of two databases that no server uses meanwhile."""
    from_, to = backend_of(source.url), backend_of(target.url)
    with ExitStack() as stack:
        stack.enter_context(from_.migration_lock(source.url))
        stack.enter_context(to.migration_lock(target.url))
        reading = closing_engine(from_.reading_engine(source.url, connections=2))
        writing = closing_engine(to.writing_engine(target.url))
        yield stack.enter_context(reading), stack.enter_context(writing)


def _copy(
    reading: Engine, writing: Engine, source: Place, target: Place, progress: Progress
) -> int:
    if current_revision(reading) != newest_revision():
        raise StorageUnavailable(
            f"{shown(source.url)} has the schema of another version; run `plaudit migrate` first"
        )
    _claim(writing, source.url)
    with reading.connect() as connection:
        sizes = {table: _count(connection, table) for table in metadata.sorted_tables}
        blobs = connection.execute(select(recordings.c.blob, recordings.c.size)).all()
        total, done = sum(sizes.values()) + len(blobs), 0
        for table, size in sizes.items():
            for count in _copy_table(connection, writing, table):
                progress(done + count, total)
            done += size
        stores = FolderBlobs(source.recordings), FolderBlobs(target.recordings)
        for number, (name, length) in enumerate(blobs, 1):
            _copy_recording(*stores, name, length)
            progress(done + number, total)
        for table in metadata.sorted_tables:
            _compare(connection, writing, table)
    with writing.begin() as connection:
        backend_in_use(connection).continue_numbering(connection, metadata.sorted_tables)
        connection.execute(delete(secrets).where(~_is_data))
    return done


def _claim(writing: Engine, source: str) -> None:
    """Mark the target as an unfinished copy of the source; refuse one that has other data."""
    mark = hashlib.sha256(shown(source).encode()).digest()
    with writing.begin() as connection:
        found = connection.execute(select(secrets.c.value).where(~_is_data)).scalar()
        is_empty = not any(_count(connection, table) for table in metadata.sorted_tables)
        if found is None and is_empty:
            connection.execute(insert(secrets), {"name": UNFINISHED_COPY, "value": mark})
        elif found != mark:
            raise StorageUnavailable("the target has other data; name a database that is empty")


def _rows_of(table: Table) -> Select[*tuple[object, ...]]:
    query = select(table)
    return query.where(_is_data) if table is secrets else query


def _count(connection: Connection, table: Table) -> int:
    query = select(func.count()).select_from(_rows_of(table).subquery())
    return connection.execute(query).scalar_one()


def _copy_table(source: Connection, writing: Engine, table: Table) -> Iterator[int]:
    """Copy the rows that the target lacks, in the order of their keys; yields how many it has."""
    with writing.connect() as connection:
        count, last = _count(connection, table), _last_key(connection, table)
    query = _rows_of(table).order_by(*table.primary_key)
    if last is not None:
        query = query.where(last)
    else:
        count = 0
    names = table.c.keys()  # which are not always the names in the database
    found = source.execution_options(yield_per=_ROWS_AT_ONCE).execute(query)
    for rows in found.partitions():
        with writing.begin() as connection:
            insert_or_ignore(
                connection, table, [dict(zip(names, row, strict=True)) for row in rows]
            )
        count += len(rows)
        yield count


def _last_key(connection: Connection, table: Table) -> ColumnElement[bool] | None:
    """The condition of rows after the last one; None for keys that databases order differently."""
    key = list(table.primary_key)
    if not all(isinstance(column.type, Integer) for column in key):
        return None
    query = select(*key).order_by(*(column.desc() for column in key)).limit(1)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    values = [literal(value, column.type) for value, column in zip(row, key, strict=True)]
    return tuple_(*key) > tuple_(*values)


def _copy_recording(source: BlobStore, target: BlobStore, name: str, size: int) -> None:
    if any(blob.name == name and blob.size == size for blob in target.list(name)):
        return
    try:
        copy_blob(source, target, name, size)
    except NotFound as error:
        raise StorageUnavailable(f"the recording {name} has no file") from error


def _compare(source: Connection, writing: Engine, table: Table) -> None:
    with writing.connect() as target:
        if _checksum(source, table) != _checksum(target, table):
            raise StorageUnavailable(
                f"the table {table.name} differs: the source has changed since the copy began. "
                "Empty the target and copy again"
            )


def _checksum(connection: Connection, table: Table) -> tuple[int, int]:
    """The number of rows, and a sum of their hashes, which does not depend on their order."""
    count = total = 0
    for row in connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(_rows_of(table)):
        text = json.dumps(list(row), sort_keys=True, default=_as_text)
        total += int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])
        count += 1
    return count, total % 2**128


def _as_text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
