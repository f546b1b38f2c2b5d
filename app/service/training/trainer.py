"""The trainer: one job per agent at a time, new events learned together, results published."""

from __future__ import annotations

import asyncio
import logging
import time

from app.errors import NotFound, PlauditError, Stale, StorageUnavailable
from app.metrics import Metrics
from app.service.agents.hosted_agent import HostedAgent
from app.service.training.jobs import LearningJob, LearningResult
from app.service.training.process_pool import ProcessPool
from app.service.training.publish import Publisher
from app.storage.commands.learning import NoteFailure
from app.storage.database import Database, now_milliseconds
from app.storage.rows import EpisodeMode

log = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0


class Trainer:
    """Keeps every agent's policy up to date with its log."""

    def __init__(
        self,
        database: Database,
        pool: ProcessPool,
        publisher: Publisher,
        metrics: Metrics,
        most_plans: int,
    ) -> None:
        self._database = database
        self._pool = pool
        self._publisher = publisher
        self._metrics = metrics
        self._most_plans = most_plans
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._more: set[int] = set()  # agents that want more plans
        self._closed = False

    def request(self, agent: HostedAgent, more: bool = False) -> None:
        """Have an agent learn what is new; a running job is followed by another.

        With ``more`` it makes more plans even if nothing is new.
        """
        if self._closed or agent.deleted:
            return
        if more:
            self._more.add(agent.number)
        if agent.number not in self._tasks:
            agent.queue_learning()
            self._tasks[agent.number] = asyncio.create_task(self._train(agent))

    def is_under_way(self, agent: HostedAgent) -> bool:
        """Whether a job of the agent is queued or runs."""
        return agent.number in self._tasks

    async def close(self) -> None:
        """Take no more jobs; those under way run again after the next start."""
        self._closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _train(self, agent: HostedAgent) -> None:
        try:
            await self._rounds(agent)
        except Exception as error:  # a failure of one agent must not reach another
            self._leave(agent)  # from now on a label tries again
            await self._fail(agent, error)
        finally:
            self._leave(agent)

    def _leave(self, agent: HostedAgent) -> None:
        if self._tasks.get(agent.number) is asyncio.current_task():
            del self._tasks[agent.number]
            self._more.discard(agent.number)
            agent.wake()

    async def _rounds(self, agent: HostedAgent) -> None:
        """Run jobs until there is nothing new."""
        # The first request for more plans counts, later ones only if plans are still missing.
        more = True
        while (more := self._takes_more(agent, more)) or agent.behind or not agent.plans:
            learn_to, began = agent.last_lesson, time.monotonic()
            try:
                result = await self._pool.run(self._job(agent, more), agent.start_learning)
            except StorageUnavailable as error:
                await self._wait(agent, error)
                if more:
                    self._more.add(agent.number)
                continue
            if agent.deleted:
                return
            await self._publish_when_possible(agent, result, max(result.learned, learn_to))
            if result.plans:
                agent.pace.learning.record(time.monotonic() - began)
            more = False
            agent.wake()
            agent.queue_learning()
        agent.end_learning()

    def _takes_more(self, agent: HostedAgent, first: bool) -> bool:
        """Take a request for more plans. False if there is none, or if a job has already met it."""
        requested = agent.number in self._more
        self._more.discard(agent.number)
        return requested and (first or agent.shares_plans(EpisodeMode.learn))

    def _job(self, agent: HostedAgent, more: bool) -> LearningJob:
        """Plans for the next episode and for as many as run side by side."""
        count = min(1 + max(agent.running, 0), self._most_plans)
        version = agent.version if agent.plans else -1
        return LearningJob(agent.number, agent.next_episode, count, version, more, agent.cells)

    async def _publish_when_possible(
        self, agent: HostedAgent, result: LearningResult, learned: int
    ) -> None:
        """Publish a result; while the disk does not take it, try again."""
        while True:
            try:
                return await self._publisher.publish(agent, result, learned)
            except StorageUnavailable as error:
                await self._wait(agent, error)

    async def _wait(self, agent: HostedAgent, error: StorageUnavailable) -> None:
        """Wait before another attempt; raise the error if there is to be none."""
        if self._closed or agent.deleted:
            raise error
        log.warning("learning waits", extra={"agent": agent.id, "reason": str(error)})
        await asyncio.sleep(_RETRY_SECONDS)

    async def _fail(self, agent: HostedAgent, error: Exception) -> None:
        """Keep the last policy in force; the next label tries again."""
        if agent.deleted or self._closed or isinstance(error, NotFound | Stale):
            return
        reason = str(error) or type(error).__name__
        agent.fail_learning(reason)
        self._metrics.learning_failures.inc()
        log.error("learning failed", extra={"agent": agent.id, "reason": reason})
        try:
            await self._database.commit(NoteFailure(agent.number, reason, now_milliseconds()))
        except PlauditError:
            log.error("the failure could not be stored", extra={"agent": agent.id})
