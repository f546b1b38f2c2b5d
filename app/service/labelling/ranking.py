"""Ranking: which episode's label would teach the most."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from cachetools import LRUCache

from app.errors import NotFound, PlauditError, StorageUnavailable
from app.service.agents.hosted_agent import HostedAgent
from app.service.runtime.cache import Cache
from app.service.training.jobs import RankingJob
from app.service.training.process_pool import ProcessPool
from app.storage.database import Database
from app.storage.queries import agents, episodes
from app.storage.queries.agents import AgentSet

log = logging.getLogger(__name__)

MOST_RANKED = 2000  # episodes of one agent that are compared
MOST_AGENTS = 200  # whose waiting episodes are ranked together
_LEARNING_SECONDS = 60.0  # after which it is checked again whether the agent still learns
_CACHE_BYTES = 8_000_000
_BYTES_PER_EPISODE = 100  # of a remembered ranking: a number and a score


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Scores of some episodes under one policy version."""

    version: int
    numbers: tuple[int, ...]
    scores: tuple[float, ...]

    def is_for(self, version: int, numbers: tuple[int, ...]) -> bool:
        """Whether it is the newest ranking of these episodes."""
        return (self.version, self.numbers) == (version, numbers)


class Ranking:
    """Ranks the episodes that wait for a label. Rankings are cached while they are valid."""

    def __init__(
        self, database: Database, cache: Cache, pool: ProcessPool, patience: float
    ) -> None:
        self._database = database
        self._cache = cache
        self._pool = pool
        self._patience = patience  # seconds
        self._refreshing: dict[int, asyncio.Task[None]] = {}
        self._known: LRUCache[int, _Ranking] = LRUCache(
            _CACHE_BYTES, lambda ranking: _BYTES_PER_EPISODE * (1 + len(ranking.numbers))
        )

    async def of_agent(self, agent: HostedAgent) -> list[tuple[float | None, int]]:
        """(information, number) of an agent's waiting episodes, the most informative first.

        If a new ranking takes too long, the last one is used. An episode that it does not know has
        None, and counts as one that teaches nothing.
        """
        numbers = tuple(
            await self._database.read(episodes.waiting_numbers, agent.number, MOST_RANKED)
        )
        known = self._known.get(agent.number)
        if numbers and (known is None or not known.is_for(agent.version, numbers)):
            await asyncio.wait([self._refresh_soon(agent, numbers)], timeout=self._patience)
            known = self._known.get(agent.number)
        scores = {} if known is None else dict(zip(known.numbers, known.scores, strict=True))
        # Among equals the oldest episode comes first.
        pairs = [(scores.get(number), number) for number in numbers]
        return sorted(pairs, key=lambda pair: (-(pair[0] or 0.0), pair[1]))

    def _refresh_soon(self, agent: HostedAgent, numbers: tuple[int, ...]) -> asyncio.Task[None]:
        """Rank an agent's episodes, once at a time."""
        task = self._refreshing.get(agent.number)
        if task is None:
            task = asyncio.create_task(self._refresh(agent, numbers))
            self._refreshing[agent.number] = task
            task.add_done_callback(lambda _: self._refreshing.pop(agent.number, None))
        return task

    async def _refresh(self, agent: HostedAgent, numbers: tuple[int, ...]) -> None:
        """Rank once the agent has learned what is new.

        Otherwise a second process would read the whole log of an import.
        """
        while agent.is_learning and agent.behind:
            await agent.wait(_LEARNING_SECONDS)
        version = agent.version
        try:
            scores = await self._pool.run(RankingJob(agent.number, numbers, agent.cells))
        except PlauditError as error:  # an older ranking serves; the next request tries again
            log.warning("ranking failed", extra={"agent": agent.id, "reason": str(error)})
        else:
            self._known[agent.number] = _Ranking(version, numbers, tuple(scores))

    async def agents_waiting(self, chosen: AgentSet) -> list[int]:
        """Those of some agents, or of all, that have episodes waiting."""
        return await self._database.read(agents.agents_waiting, chosen, MOST_AGENTS)

    async def all(self, chosen: AgentSet) -> list[tuple[float | None, int, int]]:
        """(information, agent, number) of the waiting episodes, the most informative first."""
        numbers = await self.agents_waiting(chosen)
        parts = await asyncio.gather(*(self._ranked(number) for number in numbers))
        ranked = [entry for part in parts for entry in part]
        return sorted(ranked, key=lambda entry: (-(entry[0] or 0.0), entry[1], entry[2]))

    async def _ranked(self, number: int) -> list[tuple[float | None, int, int]]:
        try:
            agent = await self._cache.agent(number)
        except (NotFound, StorageUnavailable):  # deleted meanwhile, or damaged
            return []
        return [(score, number, episode) for score, episode in await self.of_agent(agent)]
