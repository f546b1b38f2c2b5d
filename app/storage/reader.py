"""Read a database from another process, with queries that share one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.errors import StorageUnavailable
from app.storage.sqlite.database_file import DatabaseFile
from app.storage.sqlite.engine import database_file, make_reading_engine, reason_of

P = ParamSpec("P")
Result = TypeVar("Result")


class Session:
    """Queries on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def read(
        self, query: Callable[Concatenate[Connection, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """Run a query."""
        return query(self._connection, *args, **kwargs)


class Reader:
    """Opens sessions on a database that another process writes."""

    def __init__(self, url: str) -> None:
        self._file = DatabaseFile(database_file(url))
        self._engine = make_reading_engine(url)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A session. All its queries see the database as of the first query."""
        try:
            self._file.check()
            with self._engine.connect() as connection:
                yield Session(connection)
        except SQLAlchemyError as error:
            raise StorageUnavailable(f"the database cannot be read: {reason_of(error)}") from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
