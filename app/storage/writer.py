"""The group-commit writer: one thread commits many requests in one transaction.

One thread owns the one writing connection. Callers submit units of work and await; the thread
takes everything that waits, with no timer, commits it in one transaction, and wakes all callers at
once.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from app.errors import Overloaded, PlauditError, Stale, StorageUnavailable
from app.storage.backend import backend_in_use, reason_of
from app.storage.unit_of_work import StepKey, UnitOfWork

log = logging.getLogger(__name__)

Stored = TypeVar("Stored")
Results = list[Any]  # inside the queue, where units of work of all types meet
Outcome = Results | Exception
"""What the commands of a unit of work returned, or why it was not stored."""


class _Submission(NamedTuple):
    unit: UnitOfWork[Any]
    done: asyncio.Future[Results]
    applied: Callable[[Results], None] | None
    failed: Callable[[], None] | None


class Writer:
    """Commits units of work, many at a time, in the order they were submitted."""

    def __init__(
        self,
        engine: Engine,
        most_waiting: int = 20_000,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._engine = engine
        self._check = check  # raises `StorageUnavailable` where nothing must be stored
        self._backend = backend_in_use(engine)
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Submission | None] = queue.SimpleQueue()
        self._most_waiting = most_waiting
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._closed = False
        self.commits = 0
        self._thread.start()

    def submit(
        self,
        unit: UnitOfWork[Stored],
        applied: Callable[[list[Stored]], None] | None = None,
        failed: Callable[[], None] | None = None,
    ) -> asyncio.Future[list[Stored]]:
        """Queue a unit of work; the future has its commands' results once they are on disk.

        ``applied`` is called with the results in the event loop, in the order of the commits and
        before callers are woken, even if the caller has stopped waiting. It brings memory up to
        date with the disk. ``failed`` is called in the same way if nothing was stored.
        """
        if self._closed:
            raise StorageUnavailable("the server is shutting down")
        if self._waiting.qsize() >= self._most_waiting:
            raise Overloaded("too many writes are waiting for the disk")
        done: asyncio.Future[list[Stored]] = self._loop.create_future()
        self._waiting.put(_Submission(unit, done, applied, failed))
        return done

    @property
    def waiting(self) -> int:
        """How many units of work wait."""
        return self._waiting.qsize()

    async def close(self) -> None:
        """Commit what waits, and stop."""
        if not self._closed:
            self._closed = True
            self._waiting.put(None)
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch, is_open = self._take()
            if batch:
                outcomes = self._commit(batch)
                self._loop.call_soon_threadsafe(_settle, batch, outcomes)

    def _take(self) -> tuple[list[_Submission], bool]:
        """Everything that waits, once there is something; false after the last of it."""
        batch: list[_Submission] = []
        submission = self._waiting.get()
        while submission is not None:
            batch.append(submission)
            try:
                submission = self._waiting.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, False

    def _commit(self, batch: Sequence[_Submission]) -> Sequence[Outcome]:
        """Commit all at once; if that fails each by itself, so that one cannot harm another."""
        units = [submission.unit for submission in batch]
        outcomes = self._attempt(units)
        if not isinstance(outcomes, Exception):
            return outcomes
        if len(units) == 1 or self._concerns_all(outcomes):
            return [outcomes] * len(units)
        return [self._attempt_one(unit) for unit in units]

    def _attempt_one(self, unit: UnitOfWork[Any]) -> Outcome:
        outcome = self._attempt([unit])
        return outcome if isinstance(outcome, Exception) else outcome[0]

    def _attempt(self, units: Sequence[UnitOfWork[Any]]) -> Sequence[Outcome] | Exception:
        """One transaction; once more if its connection turns out to be closed.

        After the commit was sent nobody knows whether it was stored: that is not tried again.
        """
        outcomes: Sequence[Outcome] | Exception = StorageUnavailable("no attempt was made")
        for _ in range(2):
            is_sent = False
            try:
                with self._engine.begin() as connection:
                    outcomes = self._apply(connection, units)
                    self._check()
                    is_sent = True
                self.commits += 1
                return outcomes
            except Exception as error:  # the thread must survive whatever a unit of work raises
                outcomes = error
            if is_sent or not _is_closed(outcomes):
                break
        return outcomes

    def _apply(self, connection: Connection, units: Sequence[UnitOfWork[Any]]) -> list[Outcome]:
        """Steps go first, together: they depend on nothing in the transaction."""
        steps = chain.from_iterable(unit.steps for unit in units)
        taken = self._backend.insert_steps(connection, steps)
        return [_apply_one(connection, unit, taken) for unit in units]

    def _concerns_all(self, error: Exception) -> bool:
        """Whether every unit fails alike; of a locked database each would wait in turn."""
        if isinstance(error, DBAPIError):
            return self._backend.is_unavailable(error)
        return isinstance(error, StorageUnavailable)


def _apply_one(connection: Connection, unit: UnitOfWork[Any], taken: set[StepKey]) -> Outcome:
    """Apply the commands of a unit, unless another process has taken a step of it."""
    if taken and any(row[:3] in taken for row in unit.steps):
        stale = Stale("another request has stored this step meanwhile")
        if len(unit.steps) > 1 or unit.commands:
            raise stale  # the rest of it must not be stored
        return stale
    return [command.apply(connection) for command in unit.commands]


def _is_closed(error: Exception) -> bool:
    """Whether the connection was lost, such as one that was idle while the database restarted."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _settle(batch: Sequence[_Submission], outcomes: Sequence[Outcome]) -> None:
    for submission, outcome in zip(batch, outcomes, strict=True):
        try:
            _update_memory(submission, outcome)
        except Exception:  # the other callers must be woken
            log.exception("memory could not be brought up to date")
        if isinstance(outcome, Exception):
            _fail(submission.done, outcome)
        elif not submission.done.cancelled():
            submission.done.set_result(outcome)


def _update_memory(submission: _Submission, outcome: Outcome) -> None:
    if isinstance(outcome, Exception):
        if submission.failed is not None:
            submission.failed()
    elif submission.applied is not None:
        submission.applied(outcome)


def _fail(done: asyncio.Future[Results], error: Exception) -> None:
    if done.cancelled():
        return
    failure: Exception = error
    if isinstance(error, IntegrityError):
        failure = Stale("another request stored this first")
        failure.__cause__ = error
    elif not isinstance(error, PlauditError):
        failure = StorageUnavailable(f"the write could not be stored: {_reason(error)}")
        failure.__cause__ = error
    done.set_exception(failure)
    done.exception()  # mark it as retrieved: the caller may have stopped waiting


def _reason(error: Exception) -> str:
    """The database's own words, such as "database or disk is full"; no data are in them."""
    return reason_of(error) if isinstance(error, OperationalError) else type(error).__name__
