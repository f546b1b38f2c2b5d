"""The container: every part of a running service, opened and closed in one place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from app.metrics import Metrics
from app.planning.problem import PlanBudget
from app.service.access.idempotency import Idempotency
from app.service.access.keys import Keys
from app.service.access.ownership import Ownership
from app.service.access.sessions import Sessions
from app.service.agents.registry import AgentRegistry
from app.service.agents.specification import Limits
from app.service.agents.warnings import Warnings
from app.service.demo.demos import Demos
from app.service.episodes.import_export import ImportExport
from app.service.episodes.lifecycle import Lifecycle
from app.service.episodes.line_import import LineImport
from app.service.episodes.recordings import Recordings
from app.service.episodes.stepping import Stepping
from app.service.labelling.impact import Impacts
from app.service.labelling.labels import Labels
from app.service.labelling.queue import LabelQueue
from app.service.labelling.ranking import Ranking
from app.service.runtime.cache import Cache
from app.service.runtime.commit import Commits
from app.service.runtime.event_bus import EventBus
from app.service.runtime.housekeeping import Housekeeping
from app.service.runtime.readiness import Readiness
from app.service.training.pins import Pins
from app.service.training.process_pool import ProcessPool
from app.service.training.publish import Publisher
from app.service.training.scheduler import FairScheduler
from app.service.training.trainer import Trainer
from app.service.views.system import SystemViews
from app.service.views.views import Views
from app.service.webhooks.sender import Sender
from app.service.webhooks.webhooks import Webhooks
from app.settings import Settings
from app.storage.blobs.folder import FolderBlobs
from app.storage.blobs.recordings import recordings_folder
from app.storage.database import Database


class Container:
    """All parts of a service. Each part has one responsibility."""

    def __init__(self, settings: Settings, metrics: Metrics, database: Database) -> None:
        self.settings = settings
        self.metrics = metrics
        self.database = database
        self.events = EventBus()
        self.cache = Cache(database)
        self.commits = Commits(database, self.cache, self.events)
        budget = PlanBudget(cells=settings.plan_cells, bytes=settings.plan_bytes)
        self.scheduler = FairScheduler(
            settings.learning_processes, settings.long_learning_processes, settings.wait_seconds
        )
        self.pool = ProcessPool(
            settings.learning_processes + settings.long_learning_processes,
            settings.database_url,
            database.check,
            budget,
            settings.warm_bytes,
            settings.learning_seconds,
            self.scheduler,
        )
        publisher = Publisher(database, self.events, metrics)
        self.trainer = Trainer(database, self.pool, publisher, metrics, settings.most_plans)
        self.cache.on_damage = lambda agent: self.trainer.request(agent, more=True)
        self.pins = Pins(database, self.cache, self.events, self.pool)
        self.cache.on_lost_pin = self.pins.restore
        self.stepping = Stepping(self.cache, self.commits, metrics)
        self.lifecycle = Lifecycle(
            database, self.cache, self.commits, self.trainer, metrics, self.scheduler
        )
        self.labels = Labels(self.commits, self.trainer, metrics)
        self.ranking = Ranking(database, self.cache, self.pool, settings.ranking_seconds)
        self.impacts = Impacts(database, self.cache, self.trainer)
        self.queue = LabelQueue(database, self.cache, self.labels, self.ranking, self.impacts)
        folder = recordings_folder(settings.database_url, settings.recordings_folder)
        self.recordings = Recordings(database, self.cache, FolderBlobs(folder))
        limits = Limits(
            max_states=settings.max_states,
            max_horizon=settings.max_horizon,
            max_cells=settings.max_cells,
            max_features=settings.max_features,
            job_seconds=settings.job_seconds,
            job_bytes=settings.job_bytes,
            budget=budget,
        )
        self.registry = AgentRegistry(
            database, self.cache, self.trainer, self.events, limits, self.recordings
        )
        self.import_export = ImportExport(database, self.trainer, self.events, settings.job_seconds)
        self.demos = Demos(self.registry, self.lifecycle, self.stepping, self.commits, self.events)
        self.line_import = LineImport(
            database, self.trainer, self.events, folder.parent, settings.learning_seconds
        )
        self.idempotency = Idempotency(database)
        self.views = Views(database, self.cache, self.ranking, self.events)
        self.readiness = Readiness(database, self.pool)
        self.system = SystemViews(database, self.readiness, self.pool, self.scheduler)
        secret = settings.admin_key
        self.keys = Keys(
            database,
            None if secret is None else secret.get_secret_value(),
            settings.is_loopback or settings.allow_anyone,
        )
        self.webhooks = Webhooks(database, settings.webhook_private_addresses)
        self.sender = Sender(
            database, settings.webhook_retry_seconds, settings.webhook_private_addresses
        )
        self.ownership = Ownership(database)
        self.sessions = Sessions(database, self.keys)
        self.keys.on_refresh = lambda: self.events.end(
            lambda listener: listener.key is not None and not self.keys.is_in_force(listener.key)
        )
        self.sessions.on_end = lambda ended: self.events.end(
            lambda listener: listener.session in ended
        )
        self.housekeeping = Housekeeping(
            database,
            self.cache,
            self.lifecycle,
            self.labels,
            self.queue,
            self.idempotency,
            self.recordings,
            self.keys,
            self.sessions,
            Warnings(database),
            settings.idle_seconds,
        )
        self._add_gauges()

    def _add_gauges(self) -> None:
        gauge = self.metrics.gauge
        writer = self.database.writer
        gauge("plaudit_agents_loaded", "Agents in memory.", lambda: len(self.cache.agents))
        gauge("plaudit_episodes_loaded", "Episodes in memory.", lambda: len(self.cache.episodes))
        gauge("plaudit_writes_waiting", "Writes queued.", lambda: writer.waiting)
        gauge("plaudit_commits", "Commits so far.", lambda: writer.commits)
        gauge("plaudit_learning_busy", "Learning processes at work.", lambda: self.pool.busy)
        gauge("plaudit_event_listeners", "Streams of events.", lambda: self.events.listeners)


@asynccontextmanager
async def open_container(settings: Settings, metrics: Metrics) -> AsyncIterator[Container]:
    """Open the service; on exit, close its parts in reverse order, also after a failed start."""
    async with AsyncExitStack() as stack:
        database = Database(settings.database_url, settings.synchronous, settings.busy_seconds)
        stack.push_async_callback(database.close)
        container = Container(settings, metrics, database)
        stack.push_async_callback(container.recordings.close)
        await container.keys.refresh()
        await container.sessions.start()
        starting = asyncio.create_task(container.pool.start())
        stack.push_async_callback(_finish, starting)
        stack.push_async_callback(container.pool.close)
        stack.push_async_callback(container.trainer.close)
        stack.push_async_callback(container.registry.close)
        stack.push_async_callback(container.pins.close)
        await container.registry.resume()
        # The lock on the database keeps other servers away: no upload is under way.
        await container.recordings.sweep(grace_seconds=0.0)
        stack.push_async_callback(_cancel, asyncio.create_task(container.housekeeping.run()))
        stack.push_async_callback(_cancel, asyncio.create_task(container.sender.run()))
        stack.push_async_callback(container.demos.close)
        stack.callback(container.events.close)
        yield container


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await _finish(task)


async def _finish(task: asyncio.Task[None]) -> None:
    await asyncio.gather(task, return_exceptions=True)
