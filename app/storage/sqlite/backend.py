"""SQLite as a backend: one file, one server, one writer."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Column, ColumnElement, Connection, Engine, Table, func
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError

from app.storage.sqlite.database_file import DatabaseFile
from app.storage.sqlite.engine import (
    checkpoint,
    database_file,
    make_reading_engine,
    make_writing_engine,
)
from app.storage.sqlite.file_lock import lock_database
from app.storage.sqlite.steps import insert_steps
from app.storage.unit_of_work import StepKey, StepTuple

_MOST_VERSION = 2**31

log = logging.getLogger(__name__)


class SqliteBackend:
    """SQLite; see `Backend`."""

    @contextmanager
    def serving_engine(
        self, url: str, synchronous: str, busy_seconds: float | None
    ) -> Iterator[Engine]:
        """The writer's engine. A lock on the file keeps a second server away."""
        with lock_database(url):
            engine = make_writing_engine(url, synchronous, busy_seconds)
            try:
                yield engine
            finally:
                _move_log(engine)
                engine.dispose()

    def writing_engine(self, url: str) -> Engine:
        """An engine of its own; it waits for the server's writer."""
        database_file(url).parent.mkdir(parents=True, exist_ok=True)
        return make_writing_engine(url)

    def reading_engine(self, url: str, connections: int) -> Engine:
        """Connections that read from the write-ahead log."""
        return make_reading_engine(url, connections)

    def migration_lock(self, url: str) -> IO[str]:
        """The server's lock: no server may be using the file."""
        return lock_database(url)

    def check_of(self, url: str) -> Callable[[], None]:
        """Whether the file and its log are still in their place."""
        return DatabaseFile(database_file(url)).check

    def probe_write(self, connection: Connection) -> None:
        """Count up the number that SQLite keeps for applications; nothing else here uses it."""
        number = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        connection.exec_driver_sql(f"PRAGMA user_version = {(number + 1) % _MOST_VERSION}")

    def recordings_folder(self, url: str) -> Path:
        """A folder beside the file. A symlink names the same database."""
        file = database_file(url).resolve()
        return file.with_name(file.name + ".recordings")

    def insert_steps(self, connection: Connection, rows: Iterable[StepTuple]) -> set[StepKey]:
        """Insert steps; one that exists already is an integrity error."""
        insert_steps(connection, rows)
        return set()

    def insert(self, table: Table) -> Any:
        """An insert with ON CONFLICT."""
        return sqlite.insert(table)

    def continue_numbering(self, connection: Connection, tables: Sequence[Table]) -> None:
        """SQLite numbers a row after the highest one by itself."""

    def is_valid_json(self, column: Column[Any]) -> ColumnElement[bool]:
        """SQLite stores JSON as text, and refuses to look into a damaged one."""
        return func.json_valid(column)

    def is_unavailable(self, error: DBAPIError) -> bool:
        """Whether another process holds the write lock."""
        return getattr(error.orig, "sqlite_errorname", "").startswith("SQLITE_BUSY")


def _move_log(engine: Engine) -> None:
    """Make the bare file hold everything, even if another process has it open."""
    try:
        is_whole = checkpoint(engine)
    except sqlite3.Error as error:
        log.warning("checkpoint failed", extra={"reason": str(error)})
        return
    if not is_whole:
        reason = "another process is reading the database; keep its -wal file with it"
        log.warning("checkpoint failed", extra={"reason": reason})
