"""Connections to the database: one to write with, a few to read with."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import StaticPool

from app.errors import InvalidValue

log = logging.getLogger(__name__)

BUSY_MILLISECONDS = 5000
CHECKPOINT_PAGES = 4000
"""Pages of the write-ahead log after which a commit moves them into the database file, 16 MB.

Steps of many running episodes change a page each. SQLite's default of 1000 pages would make every
few commits wait for a second write and sync of the same pages.
"""


def make_writing_engine(
    url: str, synchronous: str = "FULL", busy_seconds: float | None = None
) -> Engine:
    """One connection that takes the write lock when its transaction begins.

    It waits for another process that holds the lock for at most ``busy_seconds``.
    """
    database_file(url)  # refuses what is no SQLite file
    return _sqlite(url, "BEGIN IMMEDIATE", synchronous, busy_seconds, poolclass=StaticPool)


def make_reading_engine(url: str, connections: int) -> Engine:
    """A few connections that see committed rows only and never wait for the writer.

    They do not create the file: an empty one would be in the way of the one that was moved.
    """
    existing = make_url(url).set(
        database=database_file(url).absolute().as_uri(), query={"mode": "rw", "uri": "true"}
    )
    return _sqlite(existing, "BEGIN", "FULL", None, pool_size=connections, max_overflow=0)


def is_sqlite(url: str) -> bool:
    """Whether a database address names a SQLite database."""
    return make_url(url).get_backend_name() == "sqlite"


def database_file(url: str) -> Path:
    """The file that a database address names."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidValue("database_url", "an address such as sqlite:///data/x.db") from error
    if (
        parsed.get_backend_name() != "sqlite"
        or not parsed.database
        or parsed.database == ":memory:"
    ):
        raise InvalidValue("database_url", "a SQLite file, such as sqlite:///data/plaudit.db")
    return Path(parsed.database)


def checkpoint(engine: Engine) -> bool:
    """Move the write-ahead log into the database file; false if a reader kept some of it there."""
    connection = engine.raw_connection()  # the engine's own would begin a transaction first
    try:
        cursor = connection.cursor()
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        row = cursor.fetchone()  # busy, pages in the log, pages moved
    finally:
        connection.close()
    return row is not None and row[0] == 0


def _read_json(text: str) -> Any:
    """Parse a JSON column; false if it is damaged, which no column of ours may hold."""
    try:
        return json.loads(text)
    except ValueError as error:
        log.warning("a JSON column is damaged", extra={"reason": str(error)})
        return False


def _read_text(content: bytes) -> str:
    """Decode a text column; a damaged one must not keep other rows from being read."""
    return content.decode(errors="replace")


def _sqlite(
    url: str | URL, begin: str, synchronous: str, busy_seconds: float | None, **options: Any
) -> Engine:
    engine = create_engine(
        url, connect_args={"check_same_thread": False}, json_deserializer=_read_json, **options
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver begins no transactions; `_begin` does
        connection.text_factory = _read_text
        cursor = connection.cursor()
        busy = BUSY_MILLISECONDS if busy_seconds is None else round(1000 * busy_seconds)
        cursor.execute(f"PRAGMA busy_timeout = {busy}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute(f"PRAGMA synchronous = {synchronous}")
        cursor.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    return engine
