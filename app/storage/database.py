"""The database as the service sees it: reads in threads, writes through the one writer."""

from __future__ import annotations

import asyncio
import fcntl
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.errors import StorageUnavailable, UnsafeStart
from app.storage.migrations import migrate
from app.storage.sqlite.engine import (
    database_file,
    make_reading_engine,
    make_writing_engine,
    reason_of,
)
from app.storage.sqlite.writer import Write, Writer

P = ParamSpec("P")
Result = TypeVar("Result")

_READERS = 4


def now_milliseconds() -> int:
    """The time of day, which may jump: for people to read and for deadlines, never for order."""
    return time.time_ns() // 1_000_000


class Database:
    """One open database. A lock beside it keeps a second server away."""

    def __init__(self, url: str, synchronous: str = "FULL") -> None:
        self.url = url
        self._lock = claim(url)
        self._write_engine = make_writing_engine(url, synchronous)
        self._read_engine = make_reading_engine(url)
        self._threads = ThreadPoolExecutor(_READERS, thread_name_prefix="reading")
        self.writer = Writer(self._write_engine)

    async def read(
        self, query: Callable[Concatenate[Connection, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """Run a query in a thread."""

        def run() -> Result:
            with self._read_engine.connect() as connection:
                return query(connection, *args, **kwargs)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, run)
        except SQLAlchemyError as error:
            raise StorageUnavailable("the database could not be read") from error

    async def write(self, writes: Iterable[Write]) -> None:
        """Store writes that belong together; returns once they are on disk."""
        await asyncio.shield(self.writer.submit(writes))

    async def close(self) -> None:
        """Commit what waits and let go of the file."""
        await self.writer.close()
        self._threads.shutdown(wait=True)
        self._read_engine.dispose()
        self._write_engine.dispose()
        self._lock.close()


def claim(url: str) -> IO[str]:
    """The lock that says whose database it is; its folder is made where there is none."""
    path = database_file(url)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path.with_name(path.name + ".lock"), "w")  # noqa: SIM115 - held while serving
    except OSError as error:
        raise UnsafeStart(f"the database's folder cannot be used: {error}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise UnsafeStart(
            "another server uses this database; give this one a PLAUDIT_DATABASE_URL of its own"
        ) from error
    return file


def prepare_database(url: str) -> None:
    """Create the database or bring it to this version's schema; nobody may be using it."""
    with claim(url):
        engine = make_writing_engine(url)
        try:
            migrate(engine)
        except SQLAlchemyError as error:
            raise UnsafeStart(
                f"{database_file(url)} cannot be opened: {reason_of(error)}"
            ) from error
        finally:
            engine.dispose()
