"""The worker of a learning process: it keeps agents warm, learns from the log, and plans.

A job names an agent; everything else is read from the database, so the same job can run in any
process, and again after a crash. Its result goes back to the serving process, the only writer.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

from app.agents import AgentSpec, make_agent, restore_agent
from app.agents.base import Agent
from app.agents.belief_map import MOST_CELLS, pack_map
from app.agents.insight import Insight, pack_insight
from app.errors import NotFound, SnapshotError
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy
from app.planning.policies.registry import pack_policy, unpack_policy
from app.planning.problem import Plan, PlanBudget
from app.service.agents.hosted_agent import EXPLOIT
from app.service.agents.specification import agent_spec, notes_of, read_specification
from app.service.episodes.trajectories import (
    final_observation,
    final_state,
    trajectory_to_learn,
)
from app.service.training.jobs import (
    Job,
    JobResult,
    LearningJob,
    LearningResult,
    RankingJob,
    RebuildJob,
)
from app.service.training.memory import held_bytes
from app.storage.queries import events, training
from app.storage.queries.training import PlayedEpisode
from app.storage.reader import Reader, Session
from app.storage.rows import EventKind, EventRow, PlanRow

log = logging.getLogger(__name__)

_MAPS_GROW = 1.1  # the labels of a map that is kept, by those of the one before
PLANNING_SECONDS = 5.0  # after which a job makes no more plans for episodes side by side
# A snapshot larger than this many bytes is taken only after the log has grown by a tenth and by
# more than `FEW_EVENTS` events: learning these again is as quick as packing.
SMALL_SNAPSHOT = 200_000
FEW_EVENTS = 50

_MOST_REBUILT = 16  # plans of an earlier version that are made again

_NEED_STEPS = (EventKind.finished, EventKind.abandoned, EventKind.reported)


@dataclass
class _Warm:
    """An agent in memory, and how far it has learned."""

    agent: Agent[Any]
    event: int
    version: int  # of its last plan; -1 before the first
    snapshot_event: int
    snapshot_size: int
    plans_known: int = 0  # the version up to which it knows the plans that were played
    labels: int = 0  # since the last plan, like the rest
    ends: int = 0
    corrections: int = 0
    size: int = 0  # bytes in memory
    sized: int = -1  # the event after which they were counted

    def measure(self) -> None:
        """Count its bytes again when the log has grown by a tenth: counting takes a while."""
        if self.event > 1.1 * self.sized:
            self.size, self.sized = held_bytes(self.agent), self.event

    def learn(self, event: EventRow, played: dict[int, PlayedEpisode]) -> None:
        """Have the agent learn from one event."""
        assert event.episode is not None
        new = event.number > self.version  # the last plan does not know it
        if event.kind is EventKind.finished:
            episode = played[event.episode]
            if episode.row.plan is not None:
                planned_for = _planned_as(episode.row.policy_version, episode.row.plan)
                self.agent.plays(event.episode, planned_for)
            has_end = bool(event.final_known)
            self.agent.finish(event.episode, self._trajectory(episode, has_end))
            self.ends += new
        elif event.kind is EventKind.abandoned:
            episode = played[event.episode]
            self.agent.abandon(self._trajectory(episode, bool(event.final_known)))
            self.ends += new
        elif event.kind is EventKind.reported:
            episode = played[event.episode]
            row, observation = episode.row, final_observation(episode)
            if row.ended or row.final is not None:
                self.agent.report(event.episode, final_state(episode), row.ended, observation)
        elif event.kind is EventKind.labelled:
            assert event.label is not None
            assert event.slot is not None
            known = (event.episode, event.slot) in self.agent.experience.labels
            self.corrections += new and known
            self.agent.label(event.episode, event.label, event.slot)
            self.labels += new
        elif event.kind is EventKind.withdrawn:
            assert event.slot is not None
            self.agent.remove_label(event.episode, event.slot)
            self.corrections += new
        self.event = event.number

    def _trajectory(self, episode: PlayedEpisode, has_end: bool) -> Trajectory:
        agent = self.agent
        return trajectory_to_learn(episode, has_end, agent.observes, agent.spec.actions)

    def is_wrong_about(self, episode: PlayedEpisode) -> bool:
        """Whether it has learned another last action of an episode than what was done."""
        known = self.agent.experience.episodes.get(episode.row.number)
        return known is not None and known.actions[-1] != episode.steps[-1].action

    def is_due(self) -> bool:
        """Whether a new plan is worth its time."""
        new = max(self.labels, self.ends)
        return self.version < 0 or self.corrections > 0 or new >= self.agent.patience()


class Worker:
    """Carries out the jobs of one learning process."""

    def __init__(self, reader: Reader, budget: PlanBudget, warm_bytes: float = 1e9) -> None:
        self._reader = reader
        self._budget = budget
        self._warm_bytes = warm_bytes
        self._warm: OrderedDict[int, _Warm] = OrderedDict()

    def run(self, job: Job) -> JobResult:
        """Carry out a job; an agent that failed at it is loaded again next time."""
        try:
            if isinstance(job, RebuildJob):
                return self.rebuild(job)
            result = self.learn(job) if isinstance(job, LearningJob) else self.rank(job)
        except BaseException:
            self._warm.pop(job.agent, None)
            raise
        self._evict(job.agent)
        return result

    @property
    def warm(self) -> list[int]:
        """The agents that are kept, the least recently used first."""
        return list(self._warm)

    def _evict(self, used: int) -> None:
        """Drop the least recently used agents until the others fit, the one just used last."""
        self._warm[used].measure()
        total = sum(warm.size for warm in self._warm.values())
        while total > self._warm_bytes:
            _, warm = self._warm.popitem(last=False)
            total -= warm.size

    def learn(self, job: LearningJob) -> LearningResult:
        """Learn from new events, and plan if that is worth its time or was asked for."""
        clock = _Clock()
        with self._reader.session() as session:
            warm = self._up_to_date(session, job.agent, job.version)
            pending = _readable(session.read(training.pending_policies, job.agent))
            mapped = session.read(training.labels_of_last_map, job.agent)
        clock.lap("read")
        if not (warm.is_due() or job.more):
            version = max(warm.version, 0)
            return LearningResult(job.agent, warm.event, version, notes=notes_of(warm.agent))
        agent = warm.agent
        agent.refit()
        clock.lap("fit")
        plans: list[PlanRow] = []
        for number in range(job.first, job.first + job.count):
            plan = agent.plan(number, pending=pending)
            pending.append(plan.policy)
            plans.append(_plan_row(job.agent, warm.event, number, plan))
            if clock.since_lap() > PLANNING_SECONDS:
                break  # the other episodes share these plans, or ask for more
        if warm.version != warm.event:
            exploit = agent.plan(_planned_as(warm.event, EXPLOIT), "exploit")
            plans.append(_plan_row(job.agent, warm.event, EXPLOIT, exploit))
        clock.lap("plan")
        insight, snapshot = agent.insight(), self._snapshot(warm)
        packed = None if insight is None else pack_insight(agent.options.kind, insight)
        labels = len(agent.experience.labels)
        kept_map = _map(insight, labels) if labels >= _next_map(mapped) else None
        warm.version = warm.plans_known = warm.event
        warm.labels = warm.ends = warm.corrections = 0
        clock.lap("pack")
        return LearningResult(
            job.agent,
            warm.event,
            warm.event,
            plans,
            len(agent.experience.episodes),
            labels,
            packed,
            snapshot,
            notes_of(agent),
            clock.laps,
            kept_map,
        )

    def rank(self, job: RankingJob) -> list[float]:
        """How much the label of each episode would teach, in nats."""
        with self._reader.session() as session:
            agent = self._up_to_date(session, job.agent).agent
        known = [number for number in job.episodes if number in agent.experience.episodes]
        scores = dict(zip(known, agent.information(known).tolist(), strict=True))
        return [scores.get(number, 0.0) for number in job.episodes]

    def rebuild(self, job: RebuildJob) -> list[PlanRow]:
        """The plans of an earlier version: those that were played, and the exploit plan.

        The agent learns the log up to that version, as it did then.
        """
        with self._reader.session() as session:
            spec = self._specification(session, job.agent)
            warm = _Warm(make_agent(spec, self._budget), 0, job.version, 0, 0, plans_known=-1)
            self._catch_up(session, job.agent, warm, job.version)
            played = session.read(training.plans_of_version, job.agent, job.version)
        warm.agent.refit()
        numbers = [number for number in played if number != EXPLOIT]
        plans = [
            _plan_row(job.agent, job.version, number, warm.agent.plan(number))
            for number in numbers[:_MOST_REBUILT] or [len(warm.agent.experience.episodes)]
        ]
        exploit = warm.agent.plan(_planned_as(job.version, EXPLOIT), "exploit")
        return [*plans, _plan_row(job.agent, job.version, EXPLOIT, exploit)]

    def _up_to_date(self, session: Session, number: int, version: int | None = None) -> _Warm:
        """The agent with all its events learned, and the ``version`` in force as its last plan.

        It is loaded again if another process has planned since, or if a plan of this process was
        not stored. Otherwise its weights would differ in their last digits.
        """
        warm = self._warm.get(number)
        if warm is None or version not in (None, warm.version):
            warm = self._load(session, number)
            self._warm[number] = warm
        if version == -1:
            warm.version = -1  # there are no plans, or they cannot be read
        self._warm.move_to_end(number)
        return self._catch_up(session, number, warm)

    def _specification(self, session: Session, number: int) -> AgentSpec:
        stored = session.read(training.agent_specification, number)
        if stored is None:
            raise NotFound("agent", str(number))
        return agent_spec(read_specification(stored))

    def _load(self, session: Session, number: int, from_log: bool = False) -> _Warm:
        """An agent with what its snapshot knows, or with nothing."""
        spec = self._specification(session, number)
        snapshot, event = session.read(training.newest_snapshot, number)
        version = session.read(training.policy_version, number)
        if snapshot is None or from_log:
            return _Warm(make_agent(spec, self._budget), 0, -1, 0, 0)
        try:
            agent = restore_agent(spec, snapshot, self._budget)
        except SnapshotError as error:
            log.warning("snapshot discarded: agent %s is rebuilt from its log: %s", number, error)
            return _Warm(make_agent(spec, self._budget), 0, -1, 0, 0)
        return _Warm(agent, event, version, event, len(snapshot), plans_known=event)

    def _catch_up(
        self, session: Session, number: int, warm: _Warm, last: int | None = None
    ) -> _Warm:
        """Have the agent learn every event that it does not know yet, up to ``last``.

        An episode that ended at the horizon is learned as it was answered. If it becomes known
        later that somebody else did its last action, the agent is rebuilt from the log.
        """
        fresh = session.read(events.events_to_learn, number, warm.event, last)
        needed = [
            event.episode
            for event in fresh
            if event.episode is not None and event.kind in _NEED_STEPS
        ]
        played = session.read(training.played_episodes, number, needed)
        reported = [event.episode for event in fresh if event.kind is EventKind.reported]
        if any(warm.is_wrong_about(played[episode]) for episode in reported if episode is not None):
            self._warm[number] = warm = self._load(session, number, from_log=True)
            return self._catch_up(session, number, warm, last)
        plans = self._plans_played(session, number, warm)
        if last is not None:
            plans = deque(plan for plan in plans if plan[0] < last)
        for event in fresh:
            while plans and plans[0][0] < event.number:
                warm.agent.planned(_planned_as(*plans.popleft()))
            warm.learn(event, played)
        for plan in plans:
            warm.agent.planned(_planned_as(*plan))
        warm.plans_known = max(warm.plans_known, warm.version)
        return warm

    def _plans_played(self, session: Session, number: int, warm: _Warm) -> deque[tuple[int, int]]:
        """Plans of other processes that were played, for kinds that need to know them."""
        needs_plans = type(warm.agent).planned is not Agent.planned
        if not needs_plans or warm.plans_known >= warm.version:
            return deque()
        return deque(session.read(training.plans_played, number, warm.plans_known))

    def _snapshot(self, warm: _Warm) -> bytes | None:
        """A snapshot of the agent, if it is small or the log has grown enough."""
        grown = warm.event > 1.1 * warm.snapshot_event + FEW_EVENTS
        if warm.version == warm.event or (warm.snapshot_size > SMALL_SNAPSHOT and not grown):
            return None
        snapshot = warm.agent.snapshot()
        warm.snapshot_event, warm.snapshot_size = warm.event, len(snapshot)
        return snapshot


def _next_map(labels: int | None) -> float:
    """How many labels the next map that is kept has: about forty maps for a thousand labels."""
    return 0 if labels is None else 1 + _MAPS_GROW * labels


def _map(insight: Insight | None, labels: int) -> bytes | None:
    """What the agent believes, packed; None where that is nothing yet or too large to draw."""
    found = None if insight is None or labels == 0 else insight.success_map()
    return None if found is None or len(found.success) > MOST_CELLS else pack_map(found)


def _readable(packed: list[bytes]) -> list[Policy]:
    """The policies that can be unpacked; a new plan does without the others."""
    policies: list[Policy] = []
    for content in packed:
        try:
            policies.append(unpack_policy(content))
        except SnapshotError as error:
            log.warning("the plan of a running episode cannot be read: %s", error)
    return policies


def _planned_as(version: int, plan: int) -> int:
    """The number that a plan was made under: an exploit plan has one for each version."""
    return -2 - version if plan == EXPLOIT else plan


def _plan_row(agent: int, version: int, episode: int, plan: Plan) -> PlanRow:
    return PlanRow(
        agent,
        version,
        episode,
        pack_policy(plan.policy),
        plan.planner,
        plan.value,
        plan.upper,
        plan.lower,
        plan.cells,
        plan.seconds,
        plan.label_required,
    )


class _Clock:
    """How long each part of a job took."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def since_lap(self) -> float:
        return time.perf_counter() - self._last

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
