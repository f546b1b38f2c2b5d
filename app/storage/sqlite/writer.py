"""The group-commit writer: durable before answered, and fast all the same.

One thread owns the one writing connection. Requests hand it their rows and await; it takes
everything that waits, with no timer, commits it in one transaction, and wakes them all at once.
"""

from __future__ import annotations

import asyncio
import queue
import re
import threading
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.base import Executable

from app.errors import Overloaded, StorageUnavailable

_AT_ONCE = 10_000  # rows of one statement
_ROWS_A_CALL = 128


Row = tuple[Any, ...]


class Write(NamedTuple):
    """One statement with its parameters; equal neighbours are executed together.

    Parameters by name pass through the types of the columns. A list of tuples, each of every
    column of an insert in the order of the table, goes to the driver as it is: for many rows.
    """

    statement: Executable
    parameters: dict[str, Any] | list[Row]

    def rows(self) -> Sequence[Any]:
        """The parameters of each row."""
        return self.parameters if isinstance(self.parameters, list) else [self.parameters]


class _Submission(NamedTuple):
    writes: Iterable[Write]
    done: asyncio.Future[None]


class Writer:
    """Commits what requests submit, many at a time, in the order they were submitted."""

    def __init__(self, engine: Engine, most_waiting: int = 20_000) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Submission | None] = queue.SimpleQueue()
        self._most_waiting = most_waiting
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._closed = False
        self.commits = 0
        self._thread.start()

    def submit(self, writes: Iterable[Write]) -> asyncio.Future[None]:
        """Queue writes that belong together; the future is done once they are on disk.

        Many writes may be a lazy iterable, made in the writer's thread; it must be one that can
        be gone through again.
        """
        if self._closed:
            raise StorageUnavailable("the server is shutting down")
        if self._waiting.qsize() >= self._most_waiting:
            raise Overloaded("too many writes are waiting for the disk")
        done = self._loop.create_future()
        self._waiting.put(_Submission(writes, done))
        return done

    @property
    def waiting(self) -> int:
        """How many submissions wait."""
        return self._waiting.qsize()

    async def close(self) -> None:
        """Commit what waits, and stop."""
        if not self._closed:
            self._closed = True
            self._waiting.put(None)
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        open_ = True
        while open_:
            batch, open_ = self._take()
            if batch:
                outcomes = self._commit(batch)
                self._loop.call_soon_threadsafe(_settle, batch, outcomes)

    def _take(self) -> tuple[list[_Submission], bool]:
        """Everything that waits, once there is something; false when there will be no more."""
        batch: list[_Submission] = []
        item = self._waiting.get()
        while item is not None:
            batch.append(item)
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, False

    def _commit(self, batch: list[_Submission]) -> list[Exception | None]:
        """Commit all at once; if that fails each by itself, so that one cannot harm another."""
        error = self._attempt(write for one in batch for write in one.writes)
        if error is None or len(batch) == 1 or _is_locked(error):
            return [error] * len(batch)
        return [self._attempt(one.writes) for one in batch]

    def _attempt(self, writes: Iterable[Write]) -> Exception | None:
        try:
            with self._engine.begin() as connection:
                execute(connection, writes)
        except Exception as error:  # whatever it is, the thread goes on for the others
            return error
        self.commits += 1
        return None


def _is_locked(error: Exception) -> bool:
    """Whether another process holds the database: it would keep each of many waiting in turn."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    return getattr(cause, "sqlite_errorname", "").startswith("SQLITE_BUSY")


def execute(connection: Connection, writes: Iterable[Write]) -> None:
    """Run writes in order, neighbours with the same statement in one go."""
    for statement, group in groupby(writes, key=attrgetter("statement")):
        rows = chain.from_iterable(write.rows() for write in group)
        while some := list(islice(rows, _AT_ONCE)):
            if isinstance(some[0], tuple):
                _insert(connection, statement, some)
            else:
                connection.execute(statement, some)


def _insert(connection: Connection, statement: Executable, rows: list[Row]) -> None:
    """Insert rows with few calls of the driver.

    Each call gives the interpreter's lock away and has to wait for it again, so one call a row
    would make the writer wait for the event loop once a row. The numbers of rows are powers of
    two: the driver keeps the few statements that there are prepared.
    """
    done = 0
    while done < len(rows):
        size = min(_ROWS_A_CALL, 1 << (len(rows) - done).bit_length() - 1)
        values = tuple(chain.from_iterable(rows[done : done + size]))
        connection.exec_driver_sql(_insert_sql(statement, connection.dialect, size), values)
        done += size


@lru_cache
def _insert_sql(statement: Executable, dialect: Dialect, size: int) -> str:
    """An insert of so many rows, as the driver takes it."""
    sql = str(statement.compile(dialect=dialect))  # type: ignore[attr-defined]
    head, values, tail = re.split(r"VALUES (\([^)]*\))", sql)
    return f"{head}VALUES {', '.join([values] * size)}{tail}"


def _settle(batch: list[_Submission], outcomes: list[Exception | None]) -> None:
    for submission, error in zip(batch, outcomes, strict=True):
        if submission.done.cancelled():
            continue
        if error is None:
            submission.done.set_result(None)
        else:
            failure = StorageUnavailable("the write could not be stored")
            failure.__cause__ = error
            submission.done.set_exception(failure)
            submission.done.exception()  # seen, even if every caller has gone
