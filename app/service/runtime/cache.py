"""Which agents and episodes are in memory: loaded when asked for, dropped when idle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

from sqlalchemy import Connection

from app.agents.insight import Insight, unpack_insight
from app.errors import NotFound
from app.planning.policies.registry import unpack_policy
from app.planning.policies.uniform import UniformPolicy
from app.service.agents.hosted_agent import HostedAgent, HostedPlan
from app.service.agents.specification import read_specification
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.labelling.verdicts import in_force
from app.service.runtime.ids import agent_id, read_episode_id
from app.storage.database import Database
from app.storage.queries import labelling, reading

Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing")


class Loaded:
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
            agent = await self._once(number, self._load_agent)
        if agent.deleted:
            raise NotFound("agent", agent.id)
        agent.used = time.monotonic()
        return agent

    async def episode(self, id_: str) -> HostedEpisode:
        """An episode by its id."""
        episode = self.episodes.get(id_)
        if episode is None:
            episode = await self._once(id_, self._load_episode)
        if episode.agent.deleted:
            raise NotFound("episode", id_)
        episode.used = episode.agent.used = time.monotonic()
        return episode

    async def insight(self, agent: HostedAgent) -> Insight | None:
        """What the agent believes, as its policy in force knows it."""
        if agent.insight_version != agent.version:
            version = agent.version
            packed = await self._database.read(reading.insight_bytes, agent.number)
            insight = None if packed is None else await asyncio.to_thread(unpack_insight, packed)
            agent.insight, agent.insight_version = insight, version
        return agent.insight

    def forget_episode(self, episode: HostedEpisode) -> None:
        """Drop an episode whose write failed: what is on disk is what happened."""
        if self.episodes.get(episode.id) is episode:
            del self.episodes[episode.id]

    def forget_episodes_of(self, agent: int) -> None:
        """Drop the episodes of an agent that was deleted."""
        for id_ in [id_ for id_, one in self.episodes.items() if one.agent.number == agent]:
            del self.episodes[id_]

    def drop_idle(self, seconds: float) -> None:
        """Drop what nobody has used for so long."""
        limit = time.monotonic() - seconds
        for key, episode in list(self.episodes.items()):
            if episode.used < limit and not episode.is_unsettled:
                del self.episodes[key]
        kept = {episode.agent.number for episode in self.episodes.values()}
        for number, agent in list(self.agents.items()):
            quiet = agent.learning in ("idle", "failed") and not agent.waiters
            if agent.used < limit and quiet and number not in kept:
                del self.agents[number]

    async def _once(self, key: Key, load: Callable[[Key], Awaitable[Thing]]) -> Thing:
        """Load a thing once, however many ask for it meanwhile."""
        under_way = self._loading.get(key)
        if under_way is None:
            under_way = asyncio.ensure_future(load(key))
            self._loading[key] = under_way
            under_way.add_done_callback(lambda _: self._loading.pop(key, None))
        thing: Thing = await asyncio.shield(under_way)
        return thing

    async def _load_agent(self, number: int) -> HostedAgent:
        agent = await self._database.read(_read_agent, number)
        if agent is None:
            raise NotFound("agent", agent_id(number))
        agent.used = time.monotonic()
        return self.agents.setdefault(number, agent)

    async def _load_episode(self, id_: str) -> HostedEpisode:
        agent_number, number = read_episode_id(id_)
        try:
            agent = await self.agent(agent_number)
        except NotFound as error:
            raise NotFound("episode", id_) from error
        episode = await self._database.read(_read_episode, agent, number)
        if episode is None:
            raise NotFound("episode", id_)
        episode.used = time.monotonic()
        return self.episodes.setdefault(id_, episode)


def hosted_plan(row: Any) -> HostedPlan:
    """A plan as it was stored."""
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


def _read_agent(connection: Connection, number: int) -> HostedAgent | None:
    row = reading.agent_row(connection, number)
    if row is None:
        return None
    agent = HostedAgent(row, read_specification(row.specification))
    for plan in reading.plan_rows(connection, number, agent.version):
        agent.plans[plan.episode] = hosted_plan(plan)
    return agent


def _read_episode(connection: Connection, agent: HostedAgent, number: int) -> HostedEpisode | None:
    row = reading.episode_row(connection, agent.number, number)
    if row is None:
        return None
    plan = _pinned_plan(connection, agent, row) if row.status == "running" else None
    episode = HostedEpisode(agent, number, row.mode, plan)
    steps = reading.step_rows(connection, agent.number, number)
    if plan is not None:
        episode.replay(steps)
    elif steps:
        last = steps[-1]
        episode.state = last.state if last.observation is None else last.observation
        episode.action, episode.length = last.action, len(steps)
    if row.verdicts:
        episode.verdicts = in_force(labelling.label_rows(connection, agent.number, number))
    episode.status, episode.label = row.status, row.label
    episode.labels_wanted = row.labels_wanted
    episode.policy_version, episode.label_required = row.policy_version, row.label_required
    episode.final_known = row.final is not None or row.ended
    return episode


def _pinned_plan(connection: Connection, agent: HostedAgent, row: Any) -> HostedPlan:
    """The plan that an episode started on."""
    if row.plan is None:
        return HostedPlan(row.policy_version, None, UniformPolicy(agent.actions.size))
    if agent.version == row.policy_version and row.plan in agent.plans:
        return agent.plans[row.plan]
    stored = reading.plan_row(connection, agent.number, row.policy_version, row.plan)
    if stored is None:
        raise NotFound("plan", f"{row.policy_version}/{row.plan}")
    return hosted_plan(stored)
