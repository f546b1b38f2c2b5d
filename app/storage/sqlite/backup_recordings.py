"""Copy the recordings that a copied database refers to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from app.errors import NotFound, StorageUnavailable
from app.storage.blobs.base import BlobStore
from app.storage.blobs.copy import copy_blob


class _Row(NamedTuple):
    agent: int
    episode: int
    media_type: str
    size: int
    blob: str
    at: int


_KEY = "agent = ? AND episode = ?"


def copy_recordings(
    copy: sqlite3.Connection, live: Path, source: BlobStore, target: BlobStore
) -> None:
    """Copy the blobs that ``copy`` names; it was copied from the database ``live``.

    A recording that was replaced or deleted since then has no file. The copied row is replaced by
    the current one, or deleted.
    """
    if not _has_files(copy):
        return  # an older version, with recordings in the database itself
    for row in _rows(copy):
        current: _Row | None = row
        while current is not None and not _copy_blob(source, target, current):
            current = _present_row(live, missing=current)
            _replace(copy, row, current)


def _has_files(copy: sqlite3.Connection) -> bool:
    columns = copy.execute("SELECT name FROM pragma_table_info('recordings')").fetchall()
    return ("blob",) in columns


def _rows(copy: sqlite3.Connection) -> list[_Row]:
    return [_Row(*row) for row in copy.execute(f"SELECT {', '.join(_Row._fields)} FROM recordings")]


def _present_row(live: Path, missing: _Row) -> _Row | None:
    query = f"SELECT {', '.join(_Row._fields)} FROM recordings WHERE {_KEY}"
    with closing(sqlite3.connect(live)) as database:
        found = database.execute(query, (missing.agent, missing.episode)).fetchone()
    row = None if found is None else _Row(*found)
    if row is not None and row.blob == missing.blob:
        raise StorageUnavailable(
            f"the recording {row.blob} has no file; copy the folder of recordings with the database"
        )
    return row


def _replace(copy: sqlite3.Connection, old: _Row, new: _Row | None) -> None:
    copy.execute(f"DELETE FROM recordings WHERE {_KEY}", (old.agent, old.episode))
    if new is not None:
        names, values = ", ".join(_Row._fields), ", ".join("?" * len(_Row._fields))
        copy.execute(f"INSERT INTO recordings ({names}) VALUES ({values})", new)


def _copy_blob(source: BlobStore, target: BlobStore, row: _Row) -> bool:
    """Copy one blob; false if it does not exist."""
    try:
        copy_blob(source, target, row.blob, row.size)
    except NotFound:
        return False
    return True
