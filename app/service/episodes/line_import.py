"""Imports of JSON lines: checked as they arrive, kept in a file, and stored all or nothing.

Memory holds a few lines at a time, whatever the length of the import. Steps are stored first, in
transactions of their own, so that episodes that are played meanwhile do not wait. Nobody sees them
until the last transaction stores their episodes.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO

from pydantic import TypeAdapter

from app.agents.cost import reading_cost
from app.errors import InvalidValue, StorageUnavailable
from app.service.access.idempotency import Remember
from app.service.agents.hosted_agent import HostedAgent
from app.service.agents.specification import check_seconds
from app.service.episodes.import_export import LoggedEpisode, encode_episode, import_totals
from app.service.runtime.event_bus import EventBus
from app.service.training.trainer import Trainer
from app.storage.commands.access import Answered
from app.storage.commands.episodes import (
    DropSteps,
    FinishImport,
    Imported,
    ImportedEpisode,
    ReserveEpisodes,
    imported_steps,
)
from app.storage.commands.log import CounterChange
from app.storage.database import Database, now_milliseconds
from app.storage.unit_of_work import Command, StepTuple, UnitOfWork

_EPISODES_AT_ONCE = 200  # rows of one batch
_STEPS_AT_ONCE = 10_000  # of one transaction
_EPISODE: TypeAdapter[ImportedEpisode] = TypeAdapter(ImportedEpisode)

NumberedEpisode = tuple[int, LoggedEpisode]
"""A logged episode, and the number of its line."""


class LineImport:
    """Imports lines of logged episodes."""

    def __init__(
        self,
        database: Database,
        trainer: Trainer,
        events: EventBus,
        folder: Path,
        job_seconds: float,
    ) -> None:
        self._database = database
        self._trainer = trainer
        self._events = events
        self._folder = folder  # of the temporary files
        self._job_seconds = job_seconds

    async def spool(
        self, agent: HostedAgent, batches: AsyncIterator[Sequence[NumberedEpisode]]
    ) -> Spool:
        """Check every episode, and keep them in a file."""
        spool, now = Spool(self._folder), now_milliseconds()
        try:
            async for batch in batches:
                await asyncio.to_thread(spool.add, agent, batch, now)
            if spool.episodes == 0:
                raise InvalidValue("body", "at least one line")
            cost = reading_cost(spool.steps)
            await asyncio.to_thread(check_seconds, cost, self._job_seconds, "import fewer at once")
        except BaseException:
            spool.close()
            raise
        return spool

    async def store(
        self, agent: HostedAgent, spool: Spool, remember: Remember | None, imported_by: str | None
    ) -> range:
        """Store the episodes of a spool, all or nothing, and learn from them once."""
        reserved = await self._database.commit(ReserveEpisodes(agent.number, spool.episodes))
        agent.update_counters(reserved.counters)
        numbers = range(reserved.number, reserved.number + spool.episodes)
        try:
            parts = spool.steps_from(agent.number, numbers.start)
            while rows := await asyncio.to_thread(next, parts, None):
                await asyncio.shield(self._database.writer.submit(UnitOfWork(steps=rows)))
            await self._finish(agent, spool, numbers, remember, imported_by)
        except BaseException:
            await self._database.commit(DropSteps(agent.number, numbers.start, numbers.stop))
            raise
        self._trainer.request(agent)
        return numbers

    async def _finish(
        self,
        agent: HostedAgent,
        spool: Spool,
        numbers: range,
        remember: Remember | None,
        imported_by: str | None,
    ) -> None:
        now = now_milliseconds()
        command: Command[Imported] = FinishImport(
            agent.number, numbers, spool.batches, now, imported_by
        )
        if remember is not None:
            answer = f"{numbers.start}-{numbers.stop}"
            command = Answered(command, lambda _: remember(answer))

        def applied(results: list[Imported]) -> None:
            agent.update_counters(results[0].logged.counters)
            # Listeners reconnect, and read the many new events from the log.
            self._events.end(lambda listener: listener.agent == agent.number)

        unit = UnitOfWork(commands=[command])
        await asyncio.shield(self._database.writer.submit(unit, applied))


class Spool:
    """Episodes that are ready to be stored, in a temporary file without a name."""

    def __init__(self, folder: Path) -> None:
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - see close
        except OSError as error:
            raise StorageUnavailable(f"no temporary file in {folder}: {error}") from error
        self.episodes = 0
        self.steps = 0

    def add(self, agent: HostedAgent, batch: Sequence[NumberedEpisode], now: int) -> None:
        """Check some episodes and append them."""
        try:
            for line, logged in batch:
                episode = encode_episode(agent, logged, f"line {line}", now)
                self._file.write(_EPISODE.dump_json(episode) + b"\n")
                self.episodes += 1
                self.steps += len(episode.answers)
            self._file.flush()
        except OSError as error:
            raise StorageUnavailable(f"the import could not be kept: {error}") from error

    def batches(self) -> Iterator[tuple[list[ImportedEpisode], CounterChange]]:
        """The episodes in their order, some at a time, with what they add to the counters."""
        for batch in self._read():
            yield batch, replace(import_totals(batch), episodes=0)

    def steps_from(self, agent: int, first: int) -> Iterator[list[StepTuple]]:
        """Their steps as rows, some at a time, when the first episode has this number."""
        rows: list[StepTuple] = []
        for batch in self._read():
            for episode in batch:
                rows += imported_steps(agent, first, episode)
                first += 1
                if len(rows) >= _STEPS_AT_ONCE:
                    yield rows
                    rows = []
        if rows:
            yield rows

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def _read(self) -> Iterator[list[ImportedEpisode]]:
        self._file.seek(0)
        while lines := list(islice(self._file, _EPISODES_AT_ONCE)):
            yield [_EPISODE.validate_json(line) for line in lines]
