"""Publishing: store what was learned, then put it in force."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

from app.errors import PlauditError
from app.metrics import Metrics
from app.service.agents.hosted_agent import EXPLOIT, HostedAgent, HostedPlan
from app.service.runtime.cache import hosted_plan
from app.service.runtime.event_bus import EventBus
from app.service.training.jobs import LearningResult
from app.storage.commands.learning import DropOldPlans, NoteLearned, PublishPolicy
from app.storage.commands.log import Logged
from app.storage.database import Database, now_milliseconds
from app.storage.rows import VersionRow
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)


class Publisher:
    """Publishes the results of learning jobs."""

    def __init__(self, database: Database, events: EventBus, metrics: Metrics) -> None:
        self._database = database
        self._events = events
        self._metrics = metrics

    async def publish(self, agent: HostedAgent, result: LearningResult, learned: int) -> None:
        """Store a result, which has learned up to the event ``learned``, and put it in force."""
        began = time.perf_counter()
        version = result.version if result.plans else agent.version
        note = NoteLearned(agent.number, agent.version, learned, version, result.notes)
        if not result.plans:
            await self._database.commit(note)
            agent.mark_learned(learned)
            return
        plans = await asyncio.to_thread(_hosted_plans, result)
        unpacked = time.perf_counter()
        stored = await self._in_pieces(result)
        command = _policy(note, stored, now_milliseconds(), replaces=not agent.plans)
        await self._store(agent, command, plans)
        await self._drop_old_plans(agent)
        done = time.perf_counter()
        parts = result.seconds | {"unpack": unpacked - began, "commit": done - unpacked}
        self._metrics.learned(parts)
        log.info(
            "policy replaced",
            extra={
                "agent": agent.id,
                "policy_version": result.version,
                "plans": len(result.plans),
                "milliseconds": {name: round(1000 * value, 2) for name, value in parts.items()},
            },
        )

    async def _in_pieces(self, result: LearningResult) -> LearningResult:
        """The result with references to its large bytes, which are stored before it."""
        store, agent = self._database.store_large, result.agent
        return replace(
            result,
            plans=[replace(plan, policy=await store(agent, plan.policy)) for plan in result.plans],
            insight=None if result.insight is None else await store(agent, result.insight),
            snapshot=None if result.snapshot is None else await store(agent, result.snapshot),
        )

    async def _store(
        self, agent: HostedAgent, command: PublishPolicy, plans: dict[int, HostedPlan]
    ) -> None:
        note = command.learned

        def applied(results: list[Logged]) -> None:
            agent.update_counters(results[0].counters)
            agent.put_in_force(plans, note.policy_version, note.learned)
            for event in results[0].events:
                self._events.publish(event)

        unit = UnitOfWork(commands=[command])
        await asyncio.shield(self._database.writer.submit(unit, applied))

    async def _drop_old_plans(self, agent: HostedAgent) -> None:
        """Drop plans after the commit, because an episode may just have started on one of them."""
        try:
            await self._database.commit(DropOldPlans(agent.number, agent.version))
            await self._database.drop_pieces(agent.number)
        except PlauditError:
            log.warning("old plans are kept for now", extra={"agent": agent.id})


def _hosted_plans(result: LearningResult) -> dict[int, HostedPlan]:
    return {plan.episode: hosted_plan(plan) for plan in result.plans}


def _policy(note: NoteLearned, result: LearningResult, now: int, replaces: bool) -> PublishPolicy:
    shown = next(plan for plan in result.plans if plan.episode != EXPLOIT)
    exploit = next((plan for plan in result.plans if plan.episode == EXPLOIT), None)
    version = VersionRow(
        agent=note.agent,
        version=result.version,
        episodes=result.episodes,
        labels=result.labels,
        planner=shown.planner,
        value=shown.value,
        gap=shown.upper - shown.lower,
        predicted=exploit.value if exploit is not None and exploit.is_certified else None,
        seconds=sum(result.seconds.values()),
        at=now,
    )
    return PublishPolicy(
        note,
        version,
        result.plans,
        result.insight,
        result.snapshot,
        result.learned,
        result.map,
        replaces,
    )
