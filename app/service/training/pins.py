"""Pins: an earlier policy version stays in force while learning goes on."""

from __future__ import annotations

import asyncio
import logging

from app.errors import NotFound, PlauditError
from app.service.agents.hosted_agent import HostedAgent, HostedPlan
from app.service.runtime.cache import Cache, hosted_plan
from app.service.runtime.event_bus import EventBus
from app.service.runtime.ids import read_agent_id
from app.service.training.jobs import RebuildJob
from app.service.training.process_pool import ProcessPool
from app.storage.commands.learning import PinPolicy
from app.storage.commands.log import Logged
from app.storage.database import Database, now_milliseconds
from app.storage.queries import policies
from app.storage.rows import PlanRow
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)


class Pins:
    """Pins policy versions, and lets them go."""

    def __init__(
        self, database: Database, cache: Cache, events: EventBus, pool: ProcessPool
    ) -> None:
        self._database = database
        self._cache = cache
        self._events = events
        self._pool = pool
        self._restoring: set[asyncio.Task[None]] = set()

    async def pin(self, agent: str, version: int) -> None:
        """Keep a version in force; one whose plans were dropped is rebuilt from the log."""
        hosted = await self._cache.agent(read_agent_id(agent))
        if hosted.pinned_version == version and hosted.has_pinned_plans:
            return
        if await self._database.read(policies.version_row, hosted.number, version) is None:
            raise NotFound("policy", str(version), "with version")
        rows = await self._database.read(policies.plan_rows, hosted.number, version)
        if not rows:
            rows = await self._pool.run(RebuildJob(hosted.number, version, hosted.cells))
        await self._store(hosted, version, rows)
        log.info("policy pinned", extra={"agent": hosted.id, "policy_version": version})

    async def unpin(self, agent: str) -> None:
        """Let go of a pinned version: episodes start on the newest policy again."""
        hosted = await self._cache.agent(read_agent_id(agent))
        if hosted.pinned_version is not None:
            await self._store(hosted, None, [])
            log.info("policy unpinned", extra={"agent": hosted.id})

    def restore(self, agent: HostedAgent) -> None:
        """Rebuild the plans of a pinned version that could not be read from the database."""
        restoring = asyncio.create_task(self._restore(agent))
        self._restoring.add(restoring)
        restoring.add_done_callback(self._restoring.discard)

    async def close(self) -> None:
        """Stop rebuilding; the next start continues."""
        for restoring in self._restoring:
            restoring.cancel()
        await asyncio.gather(*self._restoring, return_exceptions=True)

    async def _restore(self, agent: HostedAgent) -> None:
        version = agent.pinned_version
        if version is None:
            return
        try:
            rows = await self._pool.run(RebuildJob(agent.number, version, agent.cells))
            await self._store(agent, version, rows)
        except PlauditError as error:  # the newest policy is in force until the next start
            extra = {"agent": agent.id, "policy_version": version, "reason": str(error)}
            log.error("a pinned policy could not be rebuilt", extra=extra)

    async def _store(self, agent: HostedAgent, version: int | None, rows: list[PlanRow]) -> None:
        plans: dict[int, HostedPlan] = await asyncio.to_thread(
            lambda: {row.episode: hosted_plan(row) for row in rows}
        )

        def applied(results: list[Logged]) -> None:
            agent.update_counters(results[0].counters)
            agent.pin(version, plans)
            for event in results[0].events:
                self._events.publish(event)

        command = PinPolicy(agent.number, version, rows, now_milliseconds())
        unit = UnitOfWork(commands=[command])
        await asyncio.shield(self._database.writer.submit(unit, applied))
