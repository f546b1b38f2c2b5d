"""An episode's life beside its steps: it starts on a pinned plan, and is finished or abandoned."""

from __future__ import annotations

import time
from typing import Any

from app.errors import Conflict
from app.metrics import Metrics
from app.service.access.idempotency import Remember
from app.service.agents.hosted_agent import HostedAgent
from app.service.episodes import endings
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.runtime.cache import Loaded
from app.service.runtime.commit import Changes
from app.service.runtime.events import Broadcast
from app.service.training.scheduler import Learning
from app.storage import commands
from app.storage.database import now_milliseconds
from app.storage.sqlite.writer import Write


class Play:
    """Starts and ends episodes."""

    def __init__(
        self,
        loaded: Loaded,
        changes: Changes,
        learning: Learning,
        broadcast: Broadcast,
        metrics: Metrics,
        wait_seconds: float,
    ) -> None:
        self._loaded = loaded
        self._changes = changes
        self._learning = learning
        self._broadcast = broadcast
        self._metrics = metrics
        self._wait_seconds = wait_seconds

    async def start(
        self,
        agent: HostedAgent,
        mode: str,
        wait: bool,
        external_id: str | None,
        metadata: dict[str, Any],
        labels_wanted: int | None = None,
        remember: Remember | None = None,
    ) -> HostedEpisode:
        """Start an episode on the policy in force, after learning that is under way if wanted.

        ``labels_wanted`` is the agent's where it is not given.
        """
        self._may_start(agent)
        if wait:
            await self._catch_up(agent, mode)
            self._may_start(agent)
        elif self._lacks(agent, mode) and agent.learning != "failed":
            self._learning.request(agent, more=True)
        number = agent.next_episode
        agent.next_episode += 1
        plan = agent.plan_for(number, mode)
        episode = HostedEpisode(agent, number, mode, plan)
        episode.used = time.monotonic()
        if labels_wanted is not None:
            episode.labels_wanted = labels_wanted
        row = {
            "agent": agent.number,
            "number": number,
            "external_id": external_id,
            "mode": mode,
            "status": "running",
            "label_required": plan.label_required,
            "policy_version": plan.version,
            "plan": plan.episode,
            "ended": False,
            "labels_wanted": episode.labels_wanted,
            "verdicts": 0,
            "metadata": metadata,
            "created_at": now_milliseconds(),
        }
        self._loaded.episodes[episode.id] = episode
        also = [] if remember is None else [remember(episode.id)]
        stored = [Write(commands.ADD_EPISODE, row), agent.count(running=1), *also]
        await self._changes.store(episode, stored)
        self._metrics.episodes.inc()
        return episode

    def _may_start(self, agent: HostedAgent) -> None:
        if agent.paused:
            raise Conflict("agent_paused", "the agent is paused: it starts no episodes")

    async def _catch_up(self, agent: HostedAgent, mode: str) -> None:
        """Wait, within bounds, until what is known now is learned and there is a plan for it."""
        deadline = time.monotonic() + self._wait_seconds
        target = agent.last_lesson
        while (left := deadline - time.monotonic()) > 0:
            behind = agent.learned < target
            if not (behind or self._lacks(agent, mode)):
                return
            if agent.learning == "failed" and not self._learning.is_under_way(agent):
                return  # it tries again at the next label
            self._learning.request(agent, more=not behind)
            await self._learning.wait(agent, left)

    def _lacks(self, agent: HostedAgent, mode: str) -> bool:
        """Whether the next episode would have to share a plan with one that runs beside it."""
        shared = agent.running > 0 and agent.next_episode not in agent.plans
        return not agent.plans or (mode == "learn" and shared)

    async def finish(self, episode_id: str, state: Any, terminated: bool | None) -> HostedEpisode:
        """End an episode before the horizon, or say what its last step led to."""
        episode = await self._changes.quiet(episode_id)
        final = None if state is None else episode.agent.encode_state(state, "state")
        if episode.status == "running":
            event, stored = endings.end(episode, final, terminated is not False)
        else:
            event, stored = endings.report(episode, final, terminated is True)
        await self._changes.store(episode, stored)
        self._broadcast.publish(event)
        return episode

    async def abandon(self, episode_id: str) -> HostedEpisode:
        """Give an episode up: its transitions count, and no label will come."""
        episode = await self._changes.quiet(episode_id)
        event, stored = endings.give_up(episode)
        await self._changes.store(episode, stored)
        self._broadcast.publish(event)
        return episode
