"""The cache of agents and episodes: loaded on first use, dropped when idle."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from app.agents.insight import Insight, unpack_insight
from app.errors import InvalidValue, NotFound, PlauditError, SnapshotError, StorageUnavailable
from app.planning.policies.registry import unpack_policy
from app.service.agents.hosted_agent import HostedAgent, HostedPlan
from app.service.agents.specification import read_specification
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.runtime.ids import agent_id, read_episode_id
from app.storage.commands.learning import DiscardPlans
from app.storage.database import Database
from app.storage.queries import agents, episodes, policies
from app.storage.queries.agents import StoredAgent
from app.storage.rows import EpisodeRow, EpisodeStatus, PlanRow

log = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)
Loaded = TypeVar("Loaded")


class _SharedLoads(Generic[Key, Loaded]):
    """Loads in progress by key; callers who ask for the same key share one load."""

    def __init__(self, load: Callable[[Key], Awaitable[Loaded]]) -> None:
        self._load = load
        self._loading: dict[Key, asyncio.Future[Loaded]] = {}

    async def get(self, key: Key) -> Loaded:
        """Load, or wait for the load that is in progress."""
        loading = self._loading.get(key)
        if loading is None:
            loading = asyncio.ensure_future(self._load(key))
            self._loading[key] = loading
            loading.add_done_callback(lambda _: self._loading.pop(key, None))
        return await asyncio.shield(loading)

    async def settle(self, key: Key) -> None:
        """Wait until no load of a key is in progress."""
        while key in self._loading:
            await asyncio.wait([self._loading[key]])
            await asyncio.sleep(0)  # its callback takes it out


class Cache:
    """Every agent and every episode that is in use, each once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.agents: dict[int, HostedAgent] = {}
        self.episodes: dict[str, HostedEpisode] = {}  # by id
        self._agent_loads = _SharedLoads(self._load_agent)
        self._episode_loads = _SharedLoads(self._load_episode)
        self._late_plans: dict[str, HostedPlan] = {}  # by episode, until its next step
        self.on_damage: Callable[[HostedAgent], None] = lambda _: None
        """Called with an agent whose plans or insight cannot be read; the log has them all."""

        self.on_lost_pin: Callable[[HostedAgent], None] = lambda _: None
        """Called with an agent whose pinned version has no plans that can be read."""

    async def agent(self, number: int) -> HostedAgent:
        """An agent by its number."""
        agent = self.agents.get(number)
        if agent is None:
            agent = await self._agent_loads.get(number)
        if agent.deleted:
            raise NotFound("agent", agent.id)
        agent.touch()
        return agent

    async def loaded_agent(self, number: int) -> HostedAgent | None:
        """An agent if it is in memory, or will be because a load is under way."""
        await self._agent_loads.settle(number)
        return self.agents.get(number)

    async def episode(self, id_: str) -> HostedEpisode:
        """An episode by its id."""
        episode = self.episodes.get(id_)
        if episode is None:
            episode = await self._episode_loads.get(id_)
        if episode.agent.deleted:
            raise NotFound("episode", id_)
        episode.touch()
        return episode

    def add_episode(self, episode: HostedEpisode) -> None:
        """Keep an episode that was just started."""
        self._keep(episode)

    async def insight(self, agent: HostedAgent) -> Insight | None:
        """What the agent has learned, as its policy in force knows it."""
        is_known, insight = agent.known_insight()
        if not is_known:
            version = agent.version
            packed = await self._database.read(policies.insight_bytes, agent.number)
            insight = None if packed is None else await self._unpacked(agent, packed)
            agent.keep_insight(version, insight)
        return insight

    async def _unpacked(self, agent: HostedAgent, packed: bytes) -> Insight | None:
        """An insight; None if it is damaged, until it is rebuilt from the log."""
        try:
            return await asyncio.to_thread(unpack_insight, packed)
        except SnapshotError as error:
            _warn("insight discarded", agent, error)
            self.on_damage(agent)
            return None

    def forget_episode(self, episode: HostedEpisode) -> None:
        """Drop an episode whose commit failed: it is loaded again as it is on disk."""
        if self.episodes.get(episode.id) is episode:
            del self.episodes[episode.id]

    def forget_agent(self, number: int) -> None:
        """Drop an agent and its episodes."""
        self.agents.pop(number, None)
        for id_ in [
            id_ for id_, episode in self.episodes.items() if episode.agent.number == number
        ]:
            del self.episodes[id_]

    def drop_idle(self, seconds: float) -> None:
        """Drop agents and episodes that were not used for ``seconds``."""
        limit = time.monotonic() - seconds
        self._late_plans.clear()
        for key, episode in list(self.episodes.items()):
            if episode.used < limit and not episode.is_changing:
                del self.episodes[key]
        kept = {episode.agent.number for episode in self.episodes.values()}
        for number, agent in list(self.agents.items()):
            in_use = agent.is_learning or agent.is_waited_for or number in kept
            if agent.used < limit and not in_use:
                del self.agents[number]

    async def _load_agent(self, number: int) -> HostedAgent:
        stored = await self._database.read(agents.stored_agent, number)
        if stored is None:
            raise NotFound("agent", agent_id(number))
        agent = await asyncio.to_thread(_hosted_agent, stored)
        plans, damaged = await asyncio.to_thread(_unpack_plans, agent, stored.plans)
        agent.restore_plans({} if damaged else plans)  # the version is planned again as a whole
        pinned, lost = await asyncio.to_thread(_unpack_plans, agent, stored.pinned_plans)
        if agent.pinned_version is not None and not lost:
            agent.pin(agent.pinned_version, pinned)
        agent = self.agents.setdefault(number, agent)
        if damaged:
            await self._discard(agent, agent.version, damaged)
        if agent.pinned_version is not None and not agent.has_pinned_plans:
            await self._discard(agent, agent.pinned_version, lost)
        return agent

    async def _discard(self, agent: HostedAgent, version: int, damaged: list[int]) -> None:
        """Discard damaged plans of a policy version, and ask for new ones."""
        try:
            await self._database.commit(DiscardPlans(agent.number, version, damaged))
        except PlauditError as error:  # tried again when the agent is loaded the next time
            _warn("damaged plans are kept for now", agent, error)
        if version == agent.version:
            self.on_damage(agent)
        else:
            self.on_lost_pin(agent)

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
        plan, late = None, None
        if is_running:
            plan, late = await self._plan_in_time(agent, stored.row, id_)
        episode = await asyncio.to_thread(HostedEpisode.from_stored, agent, stored, plan)
        if late is not None:
            late.add_done_callback(lambda loaded: self._use_late_plan(episode, loaded))
        return self._keep(episode)

    async def _plan_in_time(
        self, agent: HostedAgent, row: EpisodeRow, id_: str
    ) -> tuple[HostedPlan, asyncio.Future[HostedPlan] | None]:
        """The plan that an episode started on, or after the deadline the fallback action.

        Then the load goes on, and is returned too.
        """
        known = self._late_plans.pop(id_, None)
        if known is not None:
            return known, None
        loading = asyncio.ensure_future(self._pinned_plan(agent, row))
        await asyncio.wait([loading], timeout=agent.deadline)
        if loading.done():
            return loading.result(), None
        return agent.unplanned(row.policy_version), loading

    def _use_late_plan(self, episode: HostedEpisode, loaded: asyncio.Future[HostedPlan]) -> None:
        """Have the next step load the episode again, with the plan that came too late for this."""
        if not loaded.cancelled() and loaded.exception() is None:
            self._late_plans[episode.id] = loaded.result()
        self.forget_episode(episode)

    def _keep(self, episode: HostedEpisode) -> HostedEpisode:
        """Keep an episode, unless its agent has left memory: a deletion would not reach it."""
        if self.agents.get(episode.agent.number) is not episode.agent:
            return episode
        return self.episodes.setdefault(episode.id, episode)

    async def _pinned_plan(self, agent: HostedAgent, row: EpisodeRow) -> HostedPlan:
        """The plan that an episode started on."""
        if row.plan is None:
            return agent.unplanned(row.policy_version)
        if agent.version == row.policy_version and row.plan in agent.plans:
            return agent.plans[row.plan]
        if agent.acting_version == row.policy_version and row.plan in agent.acting_plans:
            return agent.acting_plans[row.plan]
        stored = await self._database.read(
            policies.plan_row, agent.number, row.policy_version, row.plan
        )
        if stored is None:
            return self._substitute(agent, row, "it is missing")
        try:
            return await asyncio.to_thread(hosted_plan, stored)
        except SnapshotError as error:
            return self._substitute(agent, row, error)

    def _substitute(self, agent: HostedAgent, row: EpisodeRow, reason: object) -> HostedPlan:
        """The policy in force, for a running episode whose own plan is damaged."""
        _warn("an episode continues with the policy in force", agent, reason)
        return agent.plan_for(row.number, row.mode)


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
    try:
        agent = HostedAgent(stored.row, read_specification(stored.row.specification))
    except InvalidValue as error:
        raise StorageUnavailable(
            f"The stored specification of agent {agent_id(stored.row.id)} is damaged. Restore a "
            "backup, or delete the agent."
        ) from error
    agent.pace.learning.record_all(stored.learning_seconds)
    agent.pace.episode.record_all(stored.episode_seconds)
    return agent


def _unpack_plans(
    agent: HostedAgent, rows: list[PlanRow]
) -> tuple[dict[int, HostedPlan], list[int]]:
    """The plans that can be read, and the numbers of those that are damaged."""
    plans: dict[int, HostedPlan] = {}
    damaged: list[int] = []
    for row in rows:
        try:
            plans[row.episode] = hosted_plan(row)
        except SnapshotError as error:
            _warn("plan discarded", agent, error)
            damaged.append(row.episode)
    return plans, damaged


def _warn(what: str, agent: HostedAgent, reason: object) -> None:
    log.warning(what, extra={"agent": agent.id, "reason": str(reason)})
