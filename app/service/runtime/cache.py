"""The cache of agents and episodes: loaded when asked for, dropped when idle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from app.agents.insight import Insight, unpack_insight
from app.errors import NotFound
from app.planning.policies.registry import unpack_policy
from app.planning.policies.uniform import UniformPolicy
from app.service.agents.hosted_agent import HostedAgent, HostedPlan, LearningState
from app.service.agents.specification import read_specification
from app.service.episodes.hosted_episode import EpisodeState, HostedEpisode
from app.service.labelling.slots import labels_in_force
from app.service.runtime.ids import agent_id, read_episode_id
from app.storage.database import Database
from app.storage.queries import agents, episodes, policies
from app.storage.queries.agents import StoredAgent
from app.storage.queries.episodes import StoredEpisode
from app.storage.rows import EpisodeRow, EpisodeStatus, PlanRow

Key = TypeVar("Key", bound=Hashable)
Loaded = TypeVar("Loaded")


class Cache:
    """Every agent and every episode that is in use, each once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.agents: dict[int, HostedAgent] = {}
        self.episodes: dict[str, HostedEpisode] = {}  # by id
        self._loading: dict[Any, asyncio.Future[Any]] = {}

    async def agent(self, number: int) -> HostedAgent:
        """An agent by its number."""
        agent = self.agents.get(number)
        if agent is None:
            agent = await self._load_once(number, self._load_agent)
        if agent.deleted:
            raise NotFound("agent", agent.id)
        agent.used = time.monotonic()
        return agent

    async def episode(self, id_: str) -> HostedEpisode:
        """An episode by its id."""
        episode = self.episodes.get(id_)
        if episode is None:
            episode = await self._load_once(id_, self._load_episode)
        if episode.agent.deleted:
            raise NotFound("episode", id_)
        episode.used = episode.agent.used = time.monotonic()
        return episode

    def add_episode(self, episode: HostedEpisode) -> None:
        """Keep an episode that was just started."""
        self.episodes[episode.id] = episode

    async def insight(self, agent: HostedAgent) -> Insight | None:
        """What the agent has learned, as its policy in force knows it."""
        is_known, insight = agent.known_insight()
        if not is_known:
            version = agent.version
            packed = await self._database.read(policies.insight_bytes, agent.number)
            insight = None if packed is None else await asyncio.to_thread(unpack_insight, packed)
            agent.keep_insight(version, insight)
        return insight

    def forget_episode(self, episode: HostedEpisode) -> None:
        """Drop an episode whose commit failed: it is loaded again as it is on disk."""
        if self.episodes.get(episode.id) is episode:
            del self.episodes[episode.id]

    def forget_agent(self, number: int) -> None:
        """Drop an agent and its episodes."""
        self.agents.pop(number, None)
        for id_ in [id_ for id_, one in self.episodes.items() if one.agent.number == number]:
            del self.episodes[id_]

    def drop_idle(self, seconds: float) -> None:
        """Drop what nobody has used for so long."""
        limit = time.monotonic() - seconds
        for key, episode in list(self.episodes.items()):
            if episode.used < limit and not episode.is_changing:
                del self.episodes[key]
        kept = {episode.agent.number for episode in self.episodes.values()}
        for number, agent in list(self.agents.items()):
            is_learning = agent.learning in (LearningState.queued, LearningState.running)
            in_use = is_learning or agent.is_waited_for or number in kept
            if agent.used < limit and not in_use:
                del self.agents[number]

    async def _load_once(self, key: Key, load: Callable[[Key], Awaitable[Loaded]]) -> Loaded:
        """Load once, however many ask meanwhile."""
        under_way = self._loading.get(key)
        if under_way is None:
            under_way = asyncio.ensure_future(load(key))
            self._loading[key] = under_way
            under_way.add_done_callback(lambda _: self._loading.pop(key, None))
        loaded: Loaded = await asyncio.shield(under_way)
        return loaded

    async def _load_agent(self, number: int) -> HostedAgent:
        stored = await self._database.read(agents.stored_agent, number)
        if stored is None:
            raise NotFound("agent", agent_id(number))
        agent = await asyncio.to_thread(_hosted_agent, stored)
        return self.agents.setdefault(number, agent)

    async def _load_episode(self, id_: str) -> HostedEpisode:
        agent_number, number = read_episode_id(id_)
        try:
            agent = await self.agent(agent_number)
        except NotFound as error:
            raise NotFound("episode", id_) from error
        stored = await self._database.read(episodes.stored_episode, agent_number, number)
        if stored is None:
            raise NotFound("episode", id_)
        is_running = stored.row.status is EpisodeStatus.running
        plan = await self._pinned_plan(agent, stored.row) if is_running else None
        episode = await asyncio.to_thread(_hosted_episode, agent, stored, plan)
        return self.episodes.setdefault(id_, episode)

    async def _pinned_plan(self, agent: HostedAgent, row: EpisodeRow) -> HostedPlan:
        """The plan that an episode started on."""
        if row.plan is None:
            return HostedPlan(row.policy_version, None, UniformPolicy(agent.actions.size))
        if agent.version == row.policy_version and row.plan in agent.plans:
            return agent.plans[row.plan]
        stored = await self._database.read(
            policies.plan_row, agent.number, row.policy_version, row.plan
        )
        if stored is None:
            raise NotFound("plan", f"{row.policy_version}/{row.plan}")
        return await asyncio.to_thread(hosted_plan, stored)


def hosted_plan(row: PlanRow) -> HostedPlan:
    """A stored plan, ready to act."""
    return HostedPlan(
        row.version,
        row.episode,
        unpack_policy(row.policy),
        row.label_required,
        row.planner,
        row.value,
        row.upper - row.lower,
        row.seconds,
    )


def _hosted_agent(stored: StoredAgent) -> HostedAgent:
    agent = HostedAgent(stored.row, read_specification(stored.row.specification))
    agent.plans = {plan.episode: hosted_plan(plan) for plan in stored.plans}
    return agent


def _hosted_episode(
    agent: HostedAgent, stored: StoredEpisode, plan: HostedPlan | None
) -> HostedEpisode:
    row = stored.row
    episode = HostedEpisode(agent, row.number, row.mode, plan, row.labels_wanted)
    if plan is not None:
        episode.replay(stored.steps)
    elif stored.steps:
        last = stored.steps[-1]
        episode.state = last.state if last.observation is None else last.observation
        episode.action, episode.length = last.action, len(stored.steps)
    episode.policy_version, episode.label_required = row.policy_version, row.label_required
    episode.standing = EpisodeState(
        row.status,
        row.version,
        labels_in_force(stored.history),
        row.label,
        row.final is not None or row.ended,
    )
    return episode
