"""Ranking: which episode's label would teach the most."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from cachetools import LRUCache

from app.errors import NotFound, StorageUnavailable
from app.service.agents.hosted_agent import HostedAgent
from app.service.runtime.cache import Cache
from app.service.training.jobs import RankingJob
from app.service.training.process_pool import ProcessPool
from app.storage.database import Database
from app.storage.queries import agents, episodes
from app.storage.queries.agents import AgentSet

MOST_RANKED = 2000  # episodes of one agent that are compared
MOST_AGENTS = 200  # whose waiting episodes are ranked together
_CACHE_BYTES = 8_000_000
_BYTES_PER_EPISODE = 100  # of a remembered ranking: a number and a score


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Scores of some episodes under one policy version."""

    version: int
    numbers: tuple[int, ...]
    scores: tuple[float, ...]


class Ranking:
    """Ranks the episodes that wait for a label. Rankings are cached while they are valid."""

    def __init__(self, database: Database, cache: Cache, pool: ProcessPool) -> None:
        self._database = database
        self._cache = cache
        self._pool = pool
        self._known: LRUCache[int, _Ranking] = LRUCache(
            _CACHE_BYTES, lambda ranking: _BYTES_PER_EPISODE * (1 + len(ranking.numbers))
        )

    async def of_agent(self, agent: HostedAgent) -> list[tuple[float, int]]:
        """(information, number) of an agent's waiting episodes, the most informative first."""
        numbers = tuple(
            await self._database.read(episodes.waiting_numbers, agent.number, MOST_RANKED)
        )
        known = self._known.get(agent.number)
        if known is None or (known.version, known.numbers) != (agent.version, numbers):
            version, scores = agent.version, [0.0] * len(numbers)
            if numbers:
                scores = await self._pool.run(RankingJob(agent.number, numbers, agent.cells))
            known = self._known[agent.number] = _Ranking(version, numbers, tuple(scores))
        # Among equals the oldest episode comes first.
        pairs = zip(known.scores, known.numbers, strict=True)
        return sorted(pairs, key=lambda pair: (-pair[0], pair[1]))

    async def agents_waiting(self, chosen: AgentSet) -> list[int]:
        """Those of some agents, or of all, that have episodes waiting."""
        return await self._database.read(agents.agents_waiting, chosen, MOST_AGENTS)

    async def all(self, chosen: AgentSet) -> list[tuple[float, int, int]]:
        """(information, agent, number) of the waiting episodes, the most informative first."""
        numbers = await self.agents_waiting(chosen)
        parts = await asyncio.gather(*(self._ranked(number) for number in numbers))
        ranked = [entry for part in parts for entry in part]
        return sorted(ranked, key=lambda entry: (-entry[0], entry[1], entry[2]))

    async def by_age(self, chosen: AgentSet) -> list[tuple[int, int]]:
        """(agent, number) of waiting episodes, the oldest of each agent first; needs no ranking."""
        return [
            (owner, number)
            for owner in await self.agents_waiting(chosen)
            for number in reversed(
                await self._database.read(episodes.waiting_numbers, owner, MOST_RANKED)
            )
        ]

    async def _ranked(self, number: int) -> list[tuple[float, int, int]]:
        try:
            agent = await self._cache.agent(number)
        except (NotFound, StorageUnavailable):  # deleted meanwhile, or damaged
            return []
        return [(score, number, episode) for score, episode in await self.of_agent(agent)]
