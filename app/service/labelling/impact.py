"""The impact of a label: the predicted success of its episode, and decisions of the policy."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace

import numpy as np
from cachetools import LRUCache

from app.errors import NotFound
from app.service.agents.hosted_agent import HostedAgent, HostedPlan
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.episodes.trajectories import trajectory_of
from app.service.runtime.cache import Cache
from app.service.training.trainer import Trainer
from app.storage.database import Database
from app.storage.queries import episodes, events

_CACHE_BYTES = 64_000_000  # of what is remembered about labels, plans included
_MOST_COMPARED = 4000  # decisions of a policy
# Policies that can be asked what they do at a step and a state with nothing before it.
_COMPARABLE = ("grid", "markov", "reward", "tracked")


@dataclass(frozen=True)
class Impact:
    """What a label changed; None where it is not known."""

    learned: bool  # whether the policy in force knows the label
    before: float | None  # the predicted success of the episode
    after: float | None
    changed: int | None  # decisions of the policy
    compared: int | None
    together: int = 1  # labels learned since ``before`` was predicted, this one among them


@dataclass(frozen=True)
class Before:
    """The prediction and the plan before a label was given."""

    predicted: float | None
    plan: HostedPlan | None
    event: int = 0  # the label's number in the log
    learned: int = 0  # the last event that the model had learned from

    def size(self) -> int:
        """The approximate number of bytes that this object keeps in memory."""
        arrays = {} if self.plan is None else self.plan.policy.arrays()
        return 500 + sum(array.nbytes for array in arrays.values())


class Impacts:
    """Remembers prediction and plan before each label, to show the labeller what it changed."""

    def __init__(self, database: Database, cache: Cache, trainer: Trainer) -> None:
        self._database = database
        self._cache = cache
        self._trainer = trainer
        self._before: LRUCache[tuple[str, str | None], Before] = LRUCache(_CACHE_BYTES, Before.size)

    async def look(self, episode: HostedEpisode) -> Before:
        """The current prediction and plan."""
        learned = episode.agent.learned
        predicted = await self._predict(episode)
        return Before(predicted, episode.agent.representative_plan(), learned=learned)

    def remember(self, episode: HostedEpisode, labeller: str | None, before: Before) -> None:
        """Remember prediction and plan before a label that was just given."""
        remembered = replace(before, event=episode.agent.last_lesson)
        if remembered.size() > _CACHE_BYTES:
            remembered = replace(remembered, plan=None)  # a plan too large to keep
        self._before[episode.id, labeller] = remembered

    def forget(self, episode: str, labeller: str | None) -> None:
        """Forget a label that was withdrawn."""
        self._before.pop((episode, labeller), None)

    async def of_label(self, episode_id: str, labeller: str | None, seconds: float) -> Impact:
        """What a labeller's label changed, once it is learned; waits at most ``seconds``."""
        before = self._before.get((episode_id, labeller))
        if before is None:
            raise NotFound("label", episode_id[:80], "given here to episode")
        episode = await self._cache.episode(episode_id)
        agent, deadline = episode.agent, time.monotonic() + seconds
        while agent.learned < before.event and self._trainer.is_under_way(agent):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            await agent.wait(left)
        if agent.learned < before.event:
            return Impact(False, before.predicted, None, None, None)
        after, plan = await self._predict(episode), agent.representative_plan()
        changed, compared = await asyncio.to_thread(_compare, agent, before.plan, plan)
        together = await self._database.read(
            events.count_labels, agent.number, before.learned, agent.learned
        )
        return Impact(True, before.predicted, after, changed, compared, max(1, together))

    async def _predict(self, episode: HostedEpisode) -> float | None:
        """What the model in force predicts for an episode."""
        insight = await self._cache.insight(episode.agent)
        stored = await self._database.read(
            episodes.stored_episode, episode.agent.number, episode.number
        )
        if insight is None or stored is None:
            return None
        return insight.predict(trajectory_of(stored.steps, stored.row.final, stored.row.ended))


def _compare(
    agent: HostedAgent, before: HostedPlan | None, after: HostedPlan | None
) -> tuple[int | None, int | None]:
    """How many decisions differ between two plans, and how many were compared."""
    if before is None or after is None:
        return None, None
    if not {before.policy.kind, after.policy.kind} <= set(_COMPARABLE):
        return None, None
    S = agent.states.size
    places = agent.horizon * S
    chosen = np.unique(np.linspace(0, places - 1, min(places, _MOST_COMPARED)).astype(int))
    changed = 0
    for place in chosen.tolist():
        step, state = divmod(place, S)
        old_action, new_action = (
            plan.policy.act(step, state, (), 0.5)[0] for plan in (before, after)
        )
        changed += old_action != new_action
    return changed, len(chosen)
