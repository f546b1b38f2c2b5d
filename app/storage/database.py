"""One open database: reads in threads, writes through the one group-commit writer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DataError, SQLAlchemyError

from app.errors import InvalidValue, StorageUnavailable, UnsafeStart
from app.storage.backend import backend_of, reason_of, shown
from app.storage.blobs.folder import FolderBlobs
from app.storage.blobs.recordings import recordings_folder
from app.storage.commands.probe import ProbeWrite
from app.storage.migrations import current_revision, migrate, newest_revision
from app.storage.pieces import DropPieces, cut
from app.storage.queries.access import UNFINISHED_COPY, secret
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
    """An open database. A lock keeps a second server away."""

    def __init__(
        self, url: str, synchronous: str = "FULL", busy_seconds: float | None = None
    ) -> None:
        self.name = shown(url)
        backend = backend_of(url)
        self._serving = ExitStack()
        engine = backend.serving_engine(url, synchronous, busy_seconds)
        write_engine = self._serving.enter_context(engine)
        self._read_engine = backend.reading_engine(url, _READERS)
        self._threads = ThreadPoolExecutor(_READERS, thread_name_prefix="reading")
        self.check = backend.check_of(url)
        self.writer = Writer(write_engine, check=self.check)

    async def read(
        self, query: Callable[Concatenate[Connection, P], Result], *args: P.args, **kwargs: P.kwargs
    ) -> Result:
        """Run a query in a thread."""

        def run() -> Result:
            self.check()
            with self._read_engine.connect() as connection:
                return query(connection, *args, **kwargs)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, run)
        except DataError as error:  # PostgreSQL has no text with NUL, and bounds its numbers
            raise InvalidValue("query", "text without NUL characters and 64-bit numbers") from error
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

    async def store_large(self, agent: int, content: bytes) -> bytes:
        """Store large bytes of an agent piece by piece; returns what a row holds instead of them.

        Small bytes are returned as they are.
        """
        commands, reference = cut(agent, content)
        for command in commands:  # one after the other: other writes take their turn
            await self.commit(command)
        return reference

    async def drop_pieces(self, agent: int) -> None:
        """Remove the pieces of an agent's bytes that no row refers to any more."""
        while await self.commit(DropPieces(agent)):
            pass

    async def close(self) -> None:
        """Commit what waits, and release the database."""
        await self.writer.close()
        self._threads.shutdown(wait=True)
        self._read_engine.dispose()
        await asyncio.to_thread(self._serving.close)


def prepare_database(
    url: str, recordings: str | None = None, may_be_unfinished: bool = False
) -> None:
    """Create the tables, or migrate them to this version's schema; one process at a time.

    ``recordings`` is the folder of recordings, by default one that is named after the database.
    The target of a copy that was interrupted is refused, unless it ``may_be_unfinished``.
    """
    backend = backend_of(url)
    try:
        with backend.migration_lock(url), closing_engine(backend.writing_engine(url)) as engine:
            migrate(engine, blobs=FolderBlobs(recordings_folder(url, recordings)))
            with engine.connect() as connection:
                is_unfinished = secret(connection, UNFINISHED_COPY) is not None
        if is_unfinished and not may_be_unfinished:
            raise UnsafeStart(f"the copy to {shown(url)} was interrupted; run it again first")
    except SQLAlchemyError as error:
        raise UnsafeStart(f"{shown(url)} cannot be opened: {reason_of(error)}") from error


@contextmanager
def transaction(url: str, recordings: str | None = None) -> Iterator[Transaction]:
    """Open a transaction of its own; a server may be using the database at the same time."""
    try:
        with closing_engine(backend_of(url).writing_engine(url)) as engine:
            _upgrade(engine, url, recordings)
            with engine.begin() as connection:
                yield connection
    except SQLAlchemyError as error:
        raise StorageUnavailable(f"the database cannot be used: {reason_of(error)}") from error


@contextmanager
def closing_engine(engine: Engine) -> Iterator[Engine]:
    """Close the connections of an engine after its use."""
    try:
        yield engine
    finally:
        engine.dispose()


def _upgrade(engine: Engine, url: str, recordings: str | None) -> None:
    """Upgrade a database whose schema is out of date, unless a server is using it."""
    if current_revision(engine) != newest_revision():
        engine.dispose()
        prepare_database(url, recordings)
