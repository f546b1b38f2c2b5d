"""PostgreSQL as a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Engine, Table, false, func, select, true
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from app.errors import UnsafeStart
from app.storage.postgres import locks
from app.storage.postgres.engine import driver_url, make_reading_engine, make_writing_engine
from app.storage.postgres.steps import insert_steps
from app.storage.unit_of_work import StepKey, StepTuple

_UNAVAILABLE = (
    "08",  # connection lost
    "53300",  # too many connections
    "55P03",  # a lock was waited for too long
    "57P",  # shutting down or starting
)


class PostgresBackend:
    """PostgreSQL; see `Backend`."""

    @contextmanager
    def serving_engine(
        self, url: str, synchronous: str, busy_seconds: float | None
    ) -> Iterator[Engine]:
        """The writer's engine. Its connection holds the lock that keeps a second server away."""
        engine = make_writing_engine(url, synchronous, busy_seconds)
        locks.hold_while_connected(engine)
        try:
            _connect(engine)
            yield engine
        finally:
            engine.dispose()

    def writing_engine(self, url: str) -> Engine:
        """An engine of its own."""
        return make_writing_engine(url)

    def reading_engine(self, url: str, connections: int) -> Engine:
        """A bounded pool of connections."""
        return make_reading_engine(url, connections)

    def migration_lock(self, url: str) -> AbstractContextManager[None]:
        """Waits for another process that migrates the database; no server may be using it."""
        return locks.held_for_migration(url)

    def check_of(self, url: str) -> Callable[[], None]:
        """A server of PostgreSQL does not change under its connections."""
        del url
        return _is_the_same

    def probe_write(self, connection: Connection) -> None:
        """Write a message into the log of the database; nobody reads it."""
        connection.exec_driver_sql("SELECT pg_logical_emit_message(true, 'plaudit', '')")

    def recordings_folder(self, url: str) -> Path:
        """A folder named after the database."""
        return Path("data") / f"{driver_url(url).database or 'plaudit'}.recordings"

    def insert_steps(self, connection: Connection, rows: Iterable[StepTuple]) -> set[StepKey]:
        """Insert steps; returns the keys of those that exist already."""
        return insert_steps(connection, rows)

    def insert(self, table: Table) -> Any:
        """An insert with ON CONFLICT."""
        return postgresql.insert(table)

    def continue_numbering(self, connection: Connection, tables: Sequence[Table]) -> None:
        """Set the sequences of the columns that PostgreSQL numbers."""
        for table in tables:
            column = table.autoincrement_column
            if column is not None and column.autoincrement is not False:
                sequence = func.pg_get_serial_sequence(table.name, column.name)
                last = select(func.coalesce(func.max(column), 0) + 1).scalar_subquery()
                connection.execute(select(func.setval(sequence, last, false())))

    def is_valid_json(self, column: Column[Any]) -> ColumnElement[bool]:
        """PostgreSQL checks JSON when it is stored."""
        del column
        return true()

    def is_unavailable(self, error: DBAPIError) -> bool:
        """Whether the connection is lost or refused, or a lock is held too long."""
        state = getattr(error.orig, "sqlstate", None)
        if state is None:  # not an error of the server: it was not reached, or never asked
            return error.connection_invalidated or isinstance(error, OperationalError)
        return str(state).startswith(_UNAVAILABLE)


def _connect(engine: Engine) -> None:
    try:
        engine.connect().close()
    except SQLAlchemyError as error:
        raise UnsafeStart(f"the database cannot be opened: {error}") from error


def _is_the_same() -> None:
    """Nothing to check. A function of the module, so that learning processes can get it."""
