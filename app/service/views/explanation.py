"""Why an action was taken, for clients that send ``explain``."""

from __future__ import annotations

import asyncio

from app.learning.randomness import generator
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.episodes.trajectories import trajectory_of
from app.service.runtime.cache import Cache
from app.storage.database import Database
from app.storage.queries import steps as step_queries
from app.wire.steps import ExplanationView

_ROLLOUTS = 3  # the stream of random numbers that rollouts draw from


class Explanations:
    """Explains the last action of an episode with the agent's model."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self._database = database
        self._cache = cache

    async def explain(self, episode: HostedEpisode) -> ExplanationView | None:
        """Why the last action was taken; None where the agent has no model."""
        agent = episode.agent
        insight = await self._cache.insight(agent)
        plan, memory = episode.plan, episode.memory
        if insight is None:
            return None
        rows = await self._database.read(step_queries.step_rows, agent.number, episode.number)
        played, policy = trajectory_of(rows), None if plan is None else plan.policy
        rng = generator(agent.seed, _ROLLOUTS, episode.number, rows[-1].step)
        why = await asyncio.to_thread(insight.explain, policy, played, memory, rng)
        return None if why is None else ExplanationView(**vars(why))
