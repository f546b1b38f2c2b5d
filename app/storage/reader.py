"""Read a database from another process, with queries that share one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.errors import StorageUnavailable
from app.storage.backend import backend_of, reason_of

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

    def __init__(self, url: str, check: Callable[[], None] | None = None) -> None:
        """Open a database; ``check`` says whether it is the one that is meant."""
        backend = backend_of(url)
        self._check = backend.check_of(url) if check is None else check
        self._engine = backend.reading_engine(url, connections=1)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A session. All its queries see the database as of the first query."""
        try:
            self._check()
            with self._engine.connect() as connection:
                yield Session(connection)
        except SQLAlchemyError as error:
            raise StorageUnavailable(f"the database cannot be read: {reason_of(error)}") from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
