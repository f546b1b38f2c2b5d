"""What differs between databases, behind one interface. Nothing else knows which one is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Column, ColumnElement, Connection, Engine, Table, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from app.errors import InvalidValue
from app.storage.postgres.backend import PostgresBackend
from app.storage.sqlite.backend import SqliteBackend
from app.storage.unit_of_work import StepKey, StepTuple


class Backend(Protocol):
    """A kind of database. A database itself is named by its URL."""

    def serving_engine(
        self, url: str, synchronous: str, busy_seconds: float | None
    ) -> AbstractContextManager[Engine]:
        """The engine of a server's writer. Raises `UnsafeStart` if another server has it.

        A transaction waits at most ``busy_seconds`` for another process.
        """
        ...

    def writing_engine(self, url: str) -> Engine:
        """An engine for transactions that write beside a server."""
        ...

    def reading_engine(self, url: str, connections: int) -> Engine:
        """An engine whose transactions see one moment and never wait for a writer."""
        ...

    def migration_lock(self, url: str) -> AbstractContextManager[object]:
        """Held while the schema changes."""
        ...

    def check_of(self, url: str) -> Callable[[], None]:
        """A check, often repeated, that the database is the one that was opened.

        It raises `StorageUnavailable` otherwise.
        """
        ...

    def probe_write(self, connection: Connection) -> None:
        """Write something that changes nothing, to see whether writes are taken."""
        ...

    def recordings_folder(self, url: str) -> Path:
        """Where the recordings are kept unless the operator chooses a folder."""
        ...

    def insert_steps(self, connection: Connection, rows: Iterable[StepTuple]) -> set[StepKey]:
        """Insert steps. Those that exist already are returned, or are an `IntegrityError`."""
        ...

    def insert(self, table: Table) -> Any:
        """An insert statement that can tolerate conflicts."""
        ...

    def continue_numbering(self, connection: Connection, tables: Sequence[Table]) -> None:
        """Number new rows after those that were inserted with a number of their own."""
        ...

    def is_valid_json(self, column: Column[Any]) -> ColumnElement[bool]:
        """The condition that a JSON column can be looked into."""
        ...

    def is_unavailable(self, error: DBAPIError) -> bool:
        """Whether the database cannot be used now: the next transaction would fail likewise."""
        ...


_BACKENDS: dict[str, Backend] = {"sqlite": SqliteBackend(), "postgresql": PostgresBackend()}


def backend_of(url: str) -> Backend:
    """The backend of a database by its URL."""
    try:
        return _BACKENDS[make_url(url).get_backend_name()]
    except (ArgumentError, KeyError) as error:
        raise InvalidValue(
            "database_url",
            "a SQLite file such as sqlite:///data/plaudit.db, or a PostgreSQL database such as "
            "postgresql+psycopg://user@host/plaudit",
        ) from error


def backend_in_use(connection: Connection | Engine) -> Backend:
    """The backend of an open connection."""
    return _BACKENDS[connection.dialect.name]


def shown(url: str) -> str:
    """A database URL without its password, for logs and messages."""
    return make_url(url).render_as_string(hide_password=True)


def reason_of(error: SQLAlchemyError) -> str:
    """The database's own message, in one line."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split())
