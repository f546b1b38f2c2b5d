"""The host: everything that a running server is made of, built and closed in one place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.errors import PlauditError
from app.metrics import Metrics
from app.planning.problem import PlanBudget
from app.service.access.idempotency import Answers
from app.service.access.keys import Keys
from app.service.access.sessions import Sessions
from app.service.agents.registry import Roster
from app.service.agents.specification import Limits
from app.service.episodes.import_export import Logbook
from app.service.episodes.lifecycle import Play
from app.service.episodes.recordings import Recordings
from app.service.episodes.stepping import Stepping
from app.service.labelling.labels import Judgement
from app.service.labelling.queue import Desk
from app.service.runtime.cache import Loaded
from app.service.runtime.commit import Changes
from app.service.runtime.events import Broadcast
from app.service.runtime.filing import Filing
from app.service.training.process_pool import LearningProcesses
from app.service.training.scheduler import Learning
from app.service.views.views import Views
from app.settings import Settings
from app.storage.database import Database

log = logging.getLogger(__name__)

_SWEEP_SECONDS = 0.5
_HOUSEKEEPING_SECONDS = 30.0


class Container:
    """The parts of a server, each of which does one thing."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings = settings
        self.metrics = metrics
        self.database = Database(settings.database_url, settings.synchronous)
        budget = PlanBudget(cells=settings.plan_cells, bytes=settings.plan_bytes)
        self.broadcast = Broadcast()
        self.loaded = Loaded(self.database)
        self.processes = LearningProcesses(
            settings.learning_processes,
            settings.database_url,
            budget,
            settings.learning_seconds,
        )
        self.learning = Learning(
            self.database,
            self.loaded,
            self.processes,
            self.broadcast,
            self.metrics,
            settings.most_plans,
        )
        self.filing = Filing(self.database)
        self.changes = Changes(self.database, self.loaded)
        self.stepping = Stepping(
            self.loaded, self.changes, self.filing, self.broadcast, self.metrics
        )
        self.play = Play(
            self.loaded,
            self.changes,
            self.learning,
            self.broadcast,
            self.metrics,
            settings.wait_seconds,
        )
        self.judgement = Judgement(
            self.database,
            self.loaded,
            self.learning,
            self.processes,
            self.changes,
            self.play,
            self.broadcast,
            self.metrics,
        )
        self.desk = Desk(self.database, self.loaded, self.judgement, self.learning)
        self.recordings = Recordings(self.database, self.loaded)
        limits = Limits(
            max_states=settings.max_states,
            max_horizon=settings.max_horizon,
            max_cells=settings.max_cells,
            budget=budget,
        )
        self.roster = Roster(self.database, self.loaded, self.learning, self.broadcast, limits)
        self.logbook = Logbook(self.database, self.learning, self.broadcast)
        self.answers = Answers(self.database)
        self.views = Views(
            self.database, self.loaded, self.judgement, self.processes, self.broadcast
        )
        secret = settings.admin_key
        self.keys = Keys(
            self.database,
            None if secret is None else secret.get_secret_value(),
            settings.is_loopback or settings.allow_anyone,
        )
        self.sessions = Sessions(self.database, self.keys)
        self._watch()

    def _watch(self) -> None:
        gauge = self.metrics.gauge
        gauge("plaudit_agents_loaded", "Agents in memory.", lambda: len(self.loaded.agents))
        gauge("plaudit_episodes_loaded", "Episodes in memory.", lambda: len(self.loaded.episodes))
        gauge("plaudit_writes_waiting", "Writes queued.", lambda: self.database.writer.waiting)
        gauge("plaudit_commits", "Commits so far.", lambda: self.database.writer.commits)
        gauge("plaudit_learning_busy", "Learning processes at work.", lambda: self.processes.busy)
        gauge("plaudit_event_listeners", "Streams of events.", lambda: self.broadcast.listeners)

    async def sweep(self) -> None:
        """Whatever falls due with time, for as long as the server runs."""
        rounds = 0
        every = min(_HOUSEKEEPING_SECONDS, self.settings.idle_seconds)
        often = max(1, int(every / _SWEEP_SECONDS))
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            try:
                await self.judgement.expire()
                if rounds % often == 0:
                    self.loaded.drop_idle(self.settings.idle_seconds)
                    await self.answers.forget_old()
                    await self.filing.file_rest()
                    self.desk.leases.drop_old()
            except PlauditError as error:
                log.warning("housekeeping failed", extra={"reason": str(error)})
            except Exception:  # labels must fall due for as long as the server runs
                log.exception("housekeeping failed unexpectedly")
            rounds += 1


@asynccontextmanager
async def open_container(settings: Settings, metrics: Metrics) -> AsyncIterator[Container]:
    """A host that is ready to serve; closed in the order that loses nothing."""
    host = Container(settings, metrics)
    await host.keys.refresh()
    await host.sessions.start()
    starting = asyncio.create_task(host.processes.start())
    await host.roster.start()
    sweeping = asyncio.create_task(host.sweep())
    try:
        yield host
    finally:
        host.broadcast.close()
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)
        await host.learning.close()
        await host.processes.close()
        await asyncio.gather(starting, return_exceptions=True)
        await host.database.close()
