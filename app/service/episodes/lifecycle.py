"""Start, finish and abandon episodes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from app.errors import Conflict, NotFound, Overloaded, Stale
from app.metrics import Metrics
from app.service.access.idempotency import Remember
from app.service.agents.hosted_agent import HostedAgent, HostedPlan, LearningState
from app.service.agents.specification import due
from app.service.episodes.endings import decide_abandon, decide_end, decide_report
from app.service.episodes.hosted_episode import EpisodeUpdate, HostedEpisode, requires_label
from app.service.labelling.labels import decide_label
from app.service.labelling.slots import GivenLabel
from app.service.runtime.cache import Cache
from app.service.runtime.commit import Commits
from app.service.runtime.ids import episode_id
from app.service.training.scheduler import Scheduler
from app.service.training.trainer import Trainer
from app.storage.commands.access import Answered
from app.storage.commands.episodes import (
    EndEpisode,
    NewEpisode,
    ReportFinal,
    StartedEpisode,
    StartEpisode,
)
from app.storage.commands.labels import EndWithLabel, SetLabels
from app.storage.database import Database, now_milliseconds
from app.storage.queries import agents
from app.storage.rows import EpisodeMode as EpisodeMode
from app.storage.rows import EpisodeStatus as EpisodeStatus
from app.storage.unit_of_work import Command, UnitOfWork
from app.wire.base import JsonObject, Wait


@dataclass(frozen=True)
class EpisodeRequest:
    """What a client asks for when it starts an episode."""

    mode: EpisodeMode = EpisodeMode.learn
    wait: Wait | None = None  # for learning that is under way; None as the agent says
    external_id: str | None = None
    metadata: JsonObject = field(default_factory=dict)
    labels_wanted: int | None = None  # None takes the agent's number
    started_by: str | None = None  # the id of the key
    learn_transitions: bool = True


class Lifecycle:
    """Starts and ends episodes."""

    def __init__(
        self,
        database: Database,
        cache: Cache,
        commits: Commits,
        trainer: Trainer,
        metrics: Metrics,
        scheduler: Scheduler,
    ) -> None:
        self._database = database
        self._cache = cache
        self._commits = commits
        self._trainer = trainer
        self._metrics = metrics
        self._scheduler = scheduler

    async def start(
        self, agent: HostedAgent, request: EpisodeRequest, remember: Remember | None = None
    ) -> HostedEpisode:
        """Start an episode on the policy in force, after learning under way if wanted."""
        wait = agent.specification.wait if request.wait is None else request.wait
        await self._wait_for_policy(agent, request.mode, wait)
        _check_may_start(agent)
        shares = agent.shares_plans(request.mode)
        if wait is not True and shares and agent.learning is not LearningState.failed:
            self._trainer.request(agent, more=True)
        try:
            return await self._store(_Start(agent, request), remember)
        except Stale:
            if await self._database.read(agents.agent_row, agent.number) is None:
                raise NotFound("agent", agent.id) from None
            raise

    async def _wait_for_policy(self, agent: HostedAgent, mode: EpisodeMode, wait: Wait) -> None:
        """Wait as the start asks for; and for the first policy, where none may be missing."""
        if agent.acting_plans or (agent.deadline is None and agent.may_act_at_random):
            await self.catch_up(agent, mode, wait)
        elif agent.deadline is not None:  # after it the fallback action is played
            await self._catch_up(agent, mode, time.monotonic() + agent.deadline)
        else:
            await self.catch_up(agent, mode, True)
            if not agent.acting_plans:
                raise Overloaded(
                    "No policy is ready yet, and max_exploration allows no random actions."
                )

    async def _store(self, start: _Start, remember: Remember | None) -> HostedEpisode:
        """Commit the start; the episode's number and plan come from the commit."""
        agent = start.agent
        command: Command[StartedEpisode] = StartEpisode(agent.number, start.decide)
        if remember is not None:
            command = Answered(
                command, lambda started: remember(episode_id(agent.number, started.number))
            )
        started: list[HostedEpisode] = []

        def applied(results: list[StartedEpisode]) -> None:
            episode = start.hosted(results[0].number).start()
            agent.update_counters(results[0].counters)
            self._cache.add_episode(episode)
            started.append(episode)

        await asyncio.shield(self._database.writer.submit(UnitOfWork(commands=[command]), applied))
        self._metrics.episodes.inc()
        return started[0]

    async def catch_up(self, agent: HostedAgent, mode: EpisodeMode, wait: Wait) -> None:
        """Wait, within bounds, until what is known now is learned and there is a plan for it."""
        _check_may_start(agent)
        if wait is False:
            return
        longest = self._scheduler.longest_wait(agent.number)
        began = time.monotonic()
        try:
            await self._catch_up(agent, mode, began + agent.pace.longest_wait(wait, longest))
        finally:
            agent.pace.wait.record(time.monotonic() - began)

    async def _catch_up(self, agent: HostedAgent, mode: EpisodeMode, deadline: float) -> None:
        target = agent.last_lesson
        if agent.has_pinned_plans:  # learning goes on, and changes nothing for this episode
            if agent.behind:
                self._trainer.request(agent)
            return
        while (left := deadline - time.monotonic()) > 0:
            if agent.deleted:
                raise NotFound("agent", agent.id)
            behind = agent.learned < target
            if not (behind or agent.shares_plans(mode)):
                return
            if agent.learning is LearningState.failed and not self._trainer.is_under_way(agent):
                return  # the next label tries again
            self._trainer.request(agent, more=not behind)
            await agent.wait(left)

    async def finish(
        self,
        episode_id: str,
        state: object,
        terminated: bool | None,
        given: GivenLabel | None = None,
        executed: object = None,
    ) -> HostedEpisode:
        """End an episode before the horizon, or report the state that its last step led to.

        ``executed`` is what was done in the last step, where it was not the answer.

        A label that is given with it is stored in the same commit: both are stored, or neither.
        """
        labelled = False

        def decide(episode: HostedEpisode) -> EpisodeUpdate | None:
            nonlocal labelled
            end = _decide_finish(episode, state, terminated, executed)
            if given is None:
                return end
            label = decide_label(episode if end is None else episode.after(end), given)
            labelled = label is not None
            return _both(end, label)

        episode = await self._commits.change(episode_id, decide)
        if given is not None and labelled:
            self._metrics.labels.labels(str(given.label)).inc()
            if not episode.is_evaluation:
                self._trainer.request(episode.agent)
        return episode

    async def abandon(self, episode_id: str) -> HostedEpisode:
        """Abandon an episode: its transitions count, and no label will come."""
        return await self._commits.change(
            episode_id, lambda episode: decide_abandon(episode, now_milliseconds())
        )

    async def abandon_running(self, episode_id: str) -> None:
        """Abandon an episode unless it is over by now."""

        def decide(episode: HostedEpisode) -> EpisodeUpdate | None:
            if episode.status is not EpisodeStatus.running:
                return None
            return decide_abandon(episode, now_milliseconds())

        await self._commits.change(episode_id, decide)


def _decide_finish(
    episode: HostedEpisode, state: object, terminated: bool | None, executed: object
) -> EpisodeUpdate | None:
    """Decide the end of an episode, or the report of where its last step led."""
    final = None if state is None else episode.agent.encode_state(state, "state")
    done = episode.agent.encode_action(executed, "executed")
    now = now_milliseconds()
    if episode.status is EpisodeStatus.running:
        return decide_end(episode, final, terminated is not False, now, executed=done)
    is_new = final is not None or terminated is True or done not in (None, episode.action)
    if episode.ended_at_horizon and not is_new:
        return None  # the last step ended it, and there is nothing to report
    return decide_report(episode, final, terminated is True, now, done)


def _both(end: EpisodeUpdate | None, label: EpisodeUpdate | None) -> EpisodeUpdate | None:
    """An end and a label as one update."""
    if end is None or label is None:
        return end or label
    assert isinstance(end.command, EndEpisode | ReportFinal)
    assert isinstance(label.command, SetLabels)
    return EpisodeUpdate(EndWithLabel(end.command, label.command), label.state, end.correction)


class _Start:
    """The decision about a starting episode, from the plans in force when it was asked for."""

    def __init__(self, agent: HostedAgent, request: EpisodeRequest) -> None:
        self.agent = agent
        self._request = request
        self._wanted = _labels_wanted(agent, request)
        self._now = now_milliseconds()
        self._choose: Callable[[int], HostedPlan] = agent.chooser(request.mode)

    def decide(self, number: int) -> NewEpisode:
        """The row of the episode with this number."""
        plan = self._choose(number)
        return NewEpisode(
            self._request.external_id,
            self._request.mode,
            requires_label(plan, self._request.mode),
            plan.version,
            plan.episode,
            self._wanted,
            self._request.metadata,
            self._now,
            self._request.started_by,
            self._request.learn_transitions,
            due(self.agent.specification.running_timeout, self._now),
        )

    def hosted(self, number: int) -> HostedEpisode:
        """The episode with this number in memory."""
        plan, mode = self._choose(number), self._request.mode
        learns = self._request.learn_transitions
        return HostedEpisode(self.agent, number, mode, plan, self._wanted, learns)


def _labels_wanted(agent: HostedAgent, request: EpisodeRequest) -> int:
    """How many labels an episode takes; an evaluation takes one, its result."""
    if request.mode is EpisodeMode.evaluate:
        return 1
    return request.labels_wanted or agent.specification.labels_wanted


def _check_may_start(agent: HostedAgent) -> None:
    if agent.deleted:
        raise NotFound("agent", agent.id)
    if agent.paused:
        raise Conflict("agent_paused", "The agent is paused. Unpause it to start episodes.")
