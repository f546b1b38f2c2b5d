"""What a verdict changed: the predicted success of its episode, and decisions of the policy."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from app.errors import NotFound
from app.service.agents.hosted_agent import HostedAgent, HostedPlan
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.episodes.trajectories import trajectory_of
from app.service.runtime.cache import Loaded
from app.service.training.scheduler import Learning
from app.service.training.worker import EXPLOIT
from app.storage.database import Database
from app.storage.queries import reading

_MOST_REMEMBERED = 2000  # verdicts
_MOST_COMPARED = 4000  # decisions of a policy
# Policies that can be asked what they do at a step and a state with nothing before it.
_COMPARABLE = ("grid", "markov", "reward", "tracked")


@dataclass(frozen=True)
class Change:
    """What a verdict changed; None where it is not known."""

    learned: bool  # whether the policy in force knows the verdict
    before: float | None  # the predicted success of the episode
    after: float | None
    changed: int | None  # decisions of the policy
    compared: int | None


@dataclass(frozen=True)
class Before:
    """How things stood when a verdict was given."""

    predicted: float | None
    plan: HostedPlan | None
    event: int = 0  # the verdict's number in the log


class Effects:
    """Remembers how things stood before each verdict, for who gave it and for nobody else."""

    def __init__(self, database: Database, loaded: Loaded, learning: Learning) -> None:
        self._database = database
        self._loaded = loaded
        self._learning = learning
        self._before: OrderedDict[tuple[str, str | None], Before] = OrderedDict()

    async def look(self, hosted: HostedEpisode) -> Before:
        """How things stand now."""
        return Before(await self._predict(hosted), _shown(hosted.agent))

    def remember(self, hosted: HostedEpisode, labeller: str | None, before: Before) -> None:
        """A verdict was given just now; ``before`` is how things stood."""
        key = hosted.id, labeller
        self._before[key] = replace(before, event=hosted.agent.last_lesson)
        self._before.move_to_end(key)
        if len(self._before) > _MOST_REMEMBERED:
            self._before.popitem(last=False)

    def forget(self, episode: str, labeller: str | None) -> None:
        """A verdict was taken back."""
        self._before.pop((episode, labeller), None)

    async def change(self, episode: str, labeller: str | None, seconds: float) -> Change:
        """What somebody's verdict changed, once it is learned; waits for that, but not for ever."""
        before = self._before.get((episode, labeller))
        if before is None:
            raise NotFound("label", episode[:80], "given here to episode")
        hosted = await self._loaded.episode(episode)
        agent, deadline = hosted.agent, time.monotonic() + seconds
        while agent.learned < before.event and self._learning.is_under_way(agent):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            await self._learning.wait(agent, left)
        if agent.learned < before.event:
            return Change(False, before.predicted, None, None, None)
        after, plan = await self._predict(hosted), _shown(agent)
        changed, compared = await asyncio.to_thread(_compare, agent, before.plan, plan)
        return Change(True, before.predicted, after, changed, compared)

    async def _predict(self, hosted: HostedEpisode) -> float | None:
        """What the model in force makes of an episode."""
        insight = await self._loaded.insight(hosted.agent)
        row = await self._database.read(reading.episode_row, hosted.agent.number, hosted.number)
        if insight is None or row is None:
            return None
        steps = await self._database.read(reading.step_rows, hosted.agent.number, hosted.number)
        return insight.predict(trajectory_of(steps, row.final, row.ended))


def _shown(agent: HostedAgent) -> HostedPlan | None:
    """The plan that stands for what an agent would do: without luck, if there is one."""
    return agent.plans.get(EXPLOIT) or agent.newest_plan()


def _compare(
    agent: HostedAgent, before: HostedPlan | None, after: HostedPlan | None
) -> tuple[int | None, int | None]:
    """How many decisions differ between two plans, of how many that were looked at."""
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
        one, other = (plan.policy.act(step, state, (), 0.5)[0] for plan in (before, after))
        changed += one != other
    return changed, len(chosen)
