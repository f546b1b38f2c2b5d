"""What operators see of the whole server: readiness, learning, the database, recent failures."""

from __future__ import annotations

from dataclasses import dataclass

from app.service.runtime.ids import agent_id
from app.service.runtime.readiness import Readiness, State
from app.service.training.process_pool import ProcessPool
from app.service.training.scheduler import FairScheduler
from app.storage.database import Database, ReadConnection
from app.storage.queries import system

_FAILURES = 20  # agents listed


@dataclass(frozen=True)
class Failure:
    """An agent whose learning failed."""

    agent: str
    name: str
    error: str


@dataclass(frozen=True)
class SystemView:
    """The state of one server."""

    readiness: State
    processes: int  # that learn
    busy: int  # of them
    queued: int  # learning jobs that wait for a process
    totals: system.Totals
    failures: list[Failure]


class SystemViews:
    """Reads the state of the server."""

    def __init__(
        self,
        database: Database,
        readiness: Readiness,
        pool: ProcessPool,
        scheduler: FairScheduler,
    ) -> None:
        self._database = database
        self._readiness = readiness
        self._pool = pool
        self._scheduler = scheduler

    async def read(self) -> SystemView:
        """The state of the server now."""
        totals, failed = await self._database.read(_read)
        return SystemView(
            readiness=await self._readiness.state(),
            processes=self._pool.size,
            busy=self._pool.busy,
            queued=self._scheduler.queued,
            totals=totals,
            failures=[Failure(agent_id(row.agent), row.name, row.error) for row in failed],
        )


def _read(connection: ReadConnection) -> tuple[system.Totals, list[system.FailedAgent]]:
    return system.totals(connection), system.failed_agents(connection, _FAILURES)
