"""Why an action was taken, for clients that ask."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import numpy as np

from app.learning.randomness import generator
from app.learning.trajectory import Trajectory
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.runtime.cache import Loaded
from app.storage.database import Database
from app.storage.queries import reading

_ROLLOUTS = 3  # address of the generator


@dataclass(frozen=True)
class Explanation:
    """Why an action was taken."""

    visits: int
    success_probability: float
    bonus_share: float


async def explain(database: Database, loaded: Loaded, episode: HostedEpisode) -> Explanation | None:
    """Why the last step's action was taken, if the agent has beliefs to explain it with."""
    insight = await loaded.insight(episode.agent)
    plan, memory = episode.plan, episode.memory
    if insight is None:
        return None
    rows = await database.read(reading.step_rows, episode.agent.number, episode.number)
    played = Trajectory(
        np.array([row.state for row in rows]), np.array([row.action for row in rows])
    )
    step, state, action = rows[-1].step, rows[-1].state, rows[-1].action
    rng = generator(episode.agent.seed, _ROLLOUTS, episode.number, step)
    if plan is None:
        chance = insight.predict(played)
    else:
        chance = await asyncio.to_thread(insight.success_from, plan.policy, played, memory, rng)
    bonus = float(insight.bonuses[step, state, action])
    share = bonus / (bonus + chance) if bonus + chance > 0 else 0.0
    return Explanation(int(insight.visits[state, action]), chance, share)
