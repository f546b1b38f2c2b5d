"""When agents learn: one job per agent at a time, later events together, results published."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from app.errors import NotFound, PlauditError, StorageUnavailable
from app.metrics import Metrics
from app.planning.policies.registry import unpack_policy
from app.service.agents.hosted_agent import Event, HostedAgent, HostedPlan
from app.service.runtime.cache import Loaded
from app.service.runtime.events import Broadcast
from app.service.training.process_pool import LearningProcesses
from app.service.training.worker import EXPLOIT, LearningJob, Lesson, PlannedPolicy
from app.storage import commands
from app.storage.database import Database, now_milliseconds
from app.storage.sqlite.writer import Write

log = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0


class Learning:
    """Keeps every agent's policy as good as what is known."""

    def __init__(
        self,
        database: Database,
        loaded: Loaded,
        processes: LearningProcesses,
        broadcast: Broadcast,
        metrics: Metrics,
        most_plans: int,
    ) -> None:
        self._database = database
        self._loaded = loaded
        self._processes = processes
        self._broadcast = broadcast
        self._metrics = metrics
        self._most_plans = most_plans
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._closed = False

    def request(self, agent: HostedAgent, more: bool = False) -> None:
        """Have an agent learn what is new; a job that runs already is followed by another."""
        if agent.number in self._tasks or self._closed:
            return
        agent.learning = "queued"
        task = asyncio.create_task(self._learn(agent, more))
        self._tasks[agent.number] = task

    async def wait(self, agent: HostedAgent, seconds: float) -> None:
        """Until the agent's learning has come to a pause, but not longer than ``seconds``."""
        waiter = asyncio.get_running_loop().create_future()
        agent.waiters.append(waiter)
        await asyncio.wait([waiter], timeout=seconds)
        if waiter in agent.waiters:
            agent.waiters.remove(waiter)

    def is_under_way(self, agent: HostedAgent) -> bool:
        """Whether a job of the agent is queued or runs."""
        return agent.number in self._tasks

    async def close(self) -> None:
        """Take no more jobs; those under way are done again after the next start."""
        self._closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _learn(self, agent: HostedAgent, more: bool) -> None:
        try:
            await self._rounds(agent, more)
        except Exception as error:  # a failure of one agent is that agent's alone
            self._leave(agent)  # a label that comes from now on tries again
            await self._fail(agent, error)
        finally:
            self._leave(agent)

    def _leave(self, agent: HostedAgent) -> None:
        if self._tasks.get(agent.number) is asyncio.current_task():
            del self._tasks[agent.number]
            agent.wake()

    async def _rounds(self, agent: HostedAgent, more: bool) -> None:
        """Jobs until there is nothing new."""
        while more or agent.behind or not agent.plans:
            asked = agent.last_lesson
            await self._store(agent, list)  # what was asked is on disk now, or never will be

            def started() -> None:
                agent.learning = "running"

            lesson: Lesson = await self._processes.run(self._job(agent, more), started)
            if agent.deleted:
                return
            await self._publish(agent, lesson, max(lesson.learned, asked))
            more = False
            agent.wake()
            agent.learning = "queued"
        agent.learning, agent.learning_error = "idle", None

    def _job(self, agent: HostedAgent, more: bool) -> LearningJob:
        """Plans for the next episode and for as many as run side by side."""
        count = min(1 + max(agent.running, 0), self._most_plans)
        version = agent.version if agent.plans else -1
        return LearningJob(agent.number, agent.next_episode, count, version, more)

    async def _publish(self, agent: HostedAgent, lesson: Lesson, learned: int) -> None:
        """Store what was learned, up to the event ``learned``, then put it in force."""
        began = time.perf_counter()
        now = now_milliseconds()
        if not lesson.plans:
            noted = _noted(agent, lesson)
            await self._store(agent, lambda: [_learned(agent, learned, agent.version), noted])
            agent.learned = learned
            return
        plans = await asyncio.to_thread(_hosted, lesson)
        unpacked = time.perf_counter()
        events: list[Event] = []

        def stored() -> list[Write]:
            event, logged = agent.record("policy", None, lesson.version, now)
            events[:] = [event]
            known = _stored(agent, lesson, now)
            return [*known, *logged, _learned(agent, learned, lesson.version)]

        await self._store(agent, stored)
        agent.plans = plans | (agent.plans if lesson.version == agent.version else {})
        agent.learned, agent.version = learned, lesson.version
        agent.learning_error = None
        await self._drop_old_plans(agent)
        self._broadcast.publish(events[0])
        done = time.perf_counter()
        parts = lesson.seconds | {"unpack": unpacked - began, "commit": done - unpacked}
        self._metrics.learned(parts)
        log.info(
            "policy replaced",
            extra={
                "agent": agent.id,
                "policy_version": lesson.version,
                "plans": len(lesson.plans),
                "milliseconds": {name: round(1000 * value, 2) for name, value in parts.items()},
            },
        )

    async def _store(self, agent: HostedAgent, made: Callable[[], list[Write]]) -> None:
        """Store what nobody waits for: what the disk does not take now is made anew later."""
        while True:
            try:
                return await self._database.write(made())
            except StorageUnavailable as error:
                if self._closed or agent.deleted:
                    raise
                log.warning("learning waits", extra={"agent": agent.id, "reason": str(error)})
                await asyncio.sleep(_RETRY_SECONDS)

    async def _drop_old_plans(self, agent: HostedAgent) -> None:
        """Only now: an episode that started while the new plans were stored has an old one."""
        row = {"the_agent": agent.number, "the_version": agent.version}
        try:
            await self._database.write([Write(commands.DROP_OLD_PLANS, row)])
        except PlauditError:
            log.warning("old plans are kept for now", extra={"agent": agent.id})

    async def _fail(self, agent: HostedAgent, error: Exception) -> None:
        """Keep serving the last policy; the next label tries again."""
        if agent.deleted or self._closed or isinstance(error, NotFound):
            return
        reason = str(error) or type(error).__name__
        agent.learning, agent.learning_error = "failed", reason
        self._metrics.learning_failures.inc()
        log.error("learning failed", extra={"agent": agent.id, "reason": reason})
        failed = {"the_agent": agent.number, "new_learning_error": reason}
        try:
            await self._database.write([Write(commands.LEARNING_FAILED, failed)])
        except PlauditError:
            log.error("the failure could not be stored", extra={"agent": agent.id})


def _hosted(lesson: Lesson) -> dict[int, HostedPlan]:
    return {
        plan.episode: HostedPlan(
            lesson.version,
            plan.episode,
            unpack_policy(plan.policy),
            plan.label_required,
            plan.planner,
            plan.value,
            plan.upper - plan.lower,
            plan.seconds,
        )
        for plan in lesson.plans
    }


def _learned(agent: HostedAgent, learned: int, version: int) -> Write:
    return Write(
        commands.LEARNED,
        {
            "the_agent": agent.number,
            "new_learned": learned,
            "new_policy_version": version,
            "new_last_event": agent.last_event,
        },
    )


def _stored(agent: HostedAgent, lesson: Lesson, now: int) -> list[Write]:
    """The plans, the version, what is known, and the end of plans that nobody uses any more."""
    made = [
        Write(commands.ADD_PLAN, _plan_row(agent.number, lesson.version, p)) for p in lesson.plans
    ]
    learning = [plan for plan in lesson.plans if plan.episode != EXPLOIT]
    exploit = [plan for plan in lesson.plans if plan.episode == EXPLOIT]
    version = {
        "agent": agent.number,
        "version": lesson.version,
        "episodes": lesson.episodes,
        "labels": lesson.labels,
        "planner": learning[0].planner,
        "value": learning[0].value,
        "gap": learning[0].upper - learning[0].lower,
        "predicted": exploit[0].value if exploit and exploit[0].is_certified else None,
        "seconds": sum(lesson.seconds.values()),
        "at": now,
    }
    knowledge = {
        "agent": agent.number,
        "snapshot": lesson.snapshot,
        "snapshot_event": lesson.learned,
        "insight": lesson.insight,
    }
    know = commands.KNOW_INSIGHT if lesson.snapshot is None else commands.KNOW
    return [
        *made,
        Write(commands.ADD_VERSION, version),
        Write(know, knowledge),
        _noted(agent, lesson),
    ]


def _noted(agent: HostedAgent, lesson: Lesson) -> Write:
    return Write(commands.NOTE, {"the_agent": agent.number, "new_notes": lesson.notes})


def _plan_row(agent: int, version: int, plan: PlannedPolicy) -> dict[str, object]:
    return {"agent": agent, "version": version, **vars(plan)}
