"""One open database: reads in threads, writes through the one group-commit writer."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from app.errors import StorageUnavailable, UnsafeStart
from app.storage.blobs.folder import FolderBlobs
from app.storage.blobs.recordings import recordings_folder
from app.storage.migrations import current_revision, migrate, newest_revision
from app.storage.sqlite.database_file import DatabaseFile
from app.storage.sqlite.engine import (
    checkpoint,
    database_file,
    make_reading_engine,
    make_writing_engine,
    reason_of,
)
from app.storage.sqlite.file_lock import lock_database
from app.storage.sqlite.probe import ProbeWrite
from app.storage.unit_of_work import Command, UnitOfWork
from app.storage.writer import Writer

log = logging.getLogger(__name__)

P = ParamSpec("P")
Result = TypeVar("Result")

_READERS = 4
_PROBE_SECONDS = 2.0

ReadConnection = Connection
"""The connection of queries. Other layers only pass it on to queries."""
Transaction = Connection
"""The connection of one transaction. Other layers only pass it on to commands and queries."""


def now_milliseconds() -> int:
    """The current time in milliseconds. It may jump, so nothing is ordered by it."""
    return time.time_ns() // 1_000_000


class Database:
    """An open database. A lock on its file keeps a second server away."""

    def __init__(
        self, url: str, synchronous: str = "FULL", busy_seconds: float | None = None
    ) -> None:
        self.url = url
        self._lock = lock_database(url)
        self._file = DatabaseFile(database_file(url))
        self._write_engine = make_writing_engine(url, synchronous, busy_seconds)
        self._read_engine = make_reading_engine(url)
        self._threads = ThreadPoolExecutor(_READERS, thread_name_prefix="reading")
        self.writer = Writer(self._write_engine, check=self._file.check)

    async def read(
        self, query: Callable[Concatenate[Connection, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """Run a query in a thread."""

        def run() -> Result:
            self._file.check()
            with self._read_engine.connect() as connection:
                return query(connection, *args, **kwargs)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, run)
        except SQLAlchemyError as error:
            raise StorageUnavailable("the database could not be read") from error

    async def commit(self, command: Command[Result]) -> Result:
        """Apply a command in a transaction of the writer; returns once it is on disk."""
        results = await asyncio.shield(self.writer.submit(UnitOfWork(commands=[command])))
        return results[0]

    async def check_writable(self) -> None:
        """Raise `StorageUnavailable`, with the reason, if the disk takes no writes now."""
        try:
            await asyncio.wait_for(self.commit(ProbeWrite()), _PROBE_SECONDS)
        except TimeoutError as error:
            raise StorageUnavailable(f"a write takes longer than {_PROBE_SECONDS:g} s") from error

    async def close(self) -> None:
        """Commit what waits, move the write-ahead log into the file, and release it."""
        await self.writer.close()
        self._threads.shutdown(wait=True)
        self._read_engine.dispose()
        await asyncio.to_thread(self._checkpoint)
        self._write_engine.dispose()
        self._lock.close()

    def _checkpoint(self) -> None:
        """Move everything into the database file, even if another process has it open."""
        try:
            is_whole = checkpoint(self._write_engine)
        except sqlite3.Error as error:
            log.warning("checkpoint failed", extra={"reason": str(error)})
            return
        if not is_whole:
            reason = "another process is reading the database; keep its -wal file with it"
            log.warning("checkpoint failed", extra={"reason": reason})


def prepare_database(url: str, recordings: str | None = None) -> None:
    """Create the database or migrate it to this version's schema; no server may be using it.

    ``recordings`` is the folder of recordings, by default next to the database.
    """
    with lock_database(url):
        engine = make_writing_engine(url)
        try:
            migrate(engine, blobs=FolderBlobs(recordings_folder(url, recordings)))
        except SQLAlchemyError as error:
            raise UnsafeStart(
                f"{database_file(url)} cannot be opened: {reason_of(error)}"
            ) from error
        finally:
            engine.dispose()


@contextmanager
def transaction(url: str, recordings: str | None = None) -> Iterator[Transaction]:
    """Open a transaction outside the writer. A server may be using the database."""
    database_file(url).parent.mkdir(parents=True, exist_ok=True)
    engine = make_writing_engine(url)
    try:
        _upgrade(engine, url, recordings)
        with engine.begin() as connection:
            yield connection
    except SQLAlchemyError as error:
        raise StorageUnavailable(f"the database cannot be used: {reason_of(error)}") from error
    finally:
        engine.dispose()


def _upgrade(engine: Engine, url: str, recordings: str | None) -> None:
    """Upgrade a database whose schema is out of date, unless a server is using it."""
    if current_revision(engine) != newest_revision():
        engine.dispose()
        prepare_database(url, recordings)
