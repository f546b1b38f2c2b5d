"""What runs in a learning process: it keeps agents warm, learns from the log, and plans.

A job names an agent; everything else is read from the database, so the same job can run in any
process, and again after a crash. What it found out goes back to the serving process, which alone
writes.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine

from app.agents import make_agent, restore_agent
from app.agents.base import Agent
from app.errors import NotFound
from app.learning.trajectory import UNREPORTED, Trajectory
from app.planning.policies.registry import pack_policy, unpack_policy
from app.planning.problem import Plan, PlanBudget
from app.service.agents.specification import agent_spec, notes_of, read_specification
from app.storage.queries import lessons
from app.storage.queries.lessons import Played

WARM_AGENTS = 16  # that a process keeps
SMALL_SNAPSHOT = 200_000  # bytes; a larger one is taken when the log has grown by a tenth, and
FEW_EVENTS = 50  # by more than so many: they are soon learned anew, and to pack it takes as long
EXPLOIT = -1  # the episode number of the plan without bonuses


@dataclass(frozen=True)
class LearningJob:
    """Learn all that is new, and plan for the episodes ``first`` .. ``first + count - 1``.

    With ``more`` it plans even if nothing new asks for it: episodes run side by side, and each
    should have a plan of its own. ``version`` is that of the policy in force, -1 before the first.
    """

    agent: int
    first: int
    count: int
    version: int
    more: bool = False


@dataclass(frozen=True)
class RankingJob:
    """Say how much the label of each of these finished episodes would teach."""

    agent: int
    episodes: tuple[int, ...]


@dataclass(frozen=True)
class PlannedPolicy:
    """A plan as it is stored."""

    episode: int
    policy: bytes
    planner: str
    value: float
    upper: float
    lower: float
    cells: int
    seconds: float
    label_required: bool

    @property
    def is_certified(self) -> bool:
        """Whether its bounds say anything; a plan made without a model is between 0 and 1."""
        return self.upper - self.lower < 1.0


@dataclass(frozen=True)
class Lesson:
    """What a learning job found out. Without ``plans`` the policy in force stays."""

    agent: int
    learned: int  # the last event learned from
    version: int  # of the policy that it leaves in force
    plans: list[PlannedPolicy] = field(default_factory=list)
    episodes: int = 0
    labels: int = 0
    insight: bytes | None = None
    snapshot: bytes | None = None
    notes: dict[str, Any] = field(default_factory=dict)  # see `notes_of`
    seconds: dict[str, float] = field(default_factory=dict)  # read, fit, plan, pack


@dataclass
class _Warm:
    """An agent in memory, and how far it has learned."""

    agent: Agent[Any]
    event: int
    version: int  # of its last plan; -1 before the first
    snapshot_event: int
    snapshot_size: int
    told: int = 0  # the version up to which it knows which plans were made
    labels: int = 0  # since the last plan, like the rest
    ends: int = 0
    corrections: int = 0

    def is_due(self) -> bool:
        """Whether a new plan is worth its time."""
        new = max(self.labels, self.ends)
        return self.version < 0 or self.corrections > 0 or new >= self.agent.patience()


class Learner:
    """The agents of one learning process."""

    def __init__(self, engine: Engine, budget: PlanBudget) -> None:
        self._engine = engine
        self._budget = budget
        self._warm: OrderedDict[int, _Warm] = OrderedDict()

    def run(self, job: LearningJob | RankingJob) -> Any:
        """Do a job; an agent that failed at it is loaded anew next time."""
        try:
            return self._learn(job) if isinstance(job, LearningJob) else self._rank(job)
        except BaseException:
            self._warm.pop(job.agent, None)
            raise

    def _learn(self, job: LearningJob) -> Lesson:
        clock = _Clock()
        with self._engine.connect() as connection:
            warm = self._up_to_date(connection, job.agent, job.version)
            pending = [unpack_policy(one) for one in lessons.read_pending(connection, job.agent)]
        clock.lap("read")
        if not (warm.is_due() or job.more):
            version = max(warm.version, 0)
            return Lesson(job.agent, warm.event, version, notes=notes_of(warm.agent))
        agent = warm.agent
        agent.refit()
        clock.lap("fit")
        plans: list[PlannedPolicy] = []
        for number in range(job.first, job.first + job.count):
            plan = agent.plan(number, pending=pending)
            pending.append(plan.policy)
            plans.append(_stored(number, plan))
        if warm.version != warm.event:
            exploit = agent.plan(_planned_as(warm.event, EXPLOIT), "exploit")
            plans.append(_stored(EXPLOIT, exploit))
        clock.lap("plan")
        insight, snapshot = agent.packed_insight(), self._snapshot(warm)
        warm.version = warm.told = warm.event
        warm.labels = warm.ends = warm.corrections = 0
        clock.lap("pack")
        return Lesson(
            job.agent,
            warm.event,
            warm.event,
            plans,
            len(agent.experience.episodes),
            len(agent.experience.labels),
            insight,
            snapshot,
            notes_of(agent),
            clock.laps,
        )

    def _rank(self, job: RankingJob) -> list[float]:
        with self._engine.connect() as connection:
            agent = self._up_to_date(connection, job.agent).agent
        known = [number for number in job.episodes if number in agent.experience.episodes]
        scores = dict(zip(known, agent.information(known).tolist(), strict=True))
        return [scores.get(number, 0.0) for number in job.episodes]

    def _up_to_date(self, connection: Connection, number: int, version: int | None = None) -> _Warm:
        """The agent with all its events learned, and the ``version`` in force as its last plan.

        It is loaded anew if another process has planned since or a plan from here was never
        stored: going on from an older fit would give the same weights only nearly.
        """
        warm = self._warm.get(number)
        if warm is None or version not in (None, warm.version):
            warm = self._load(connection, number)
            self._warm[number] = warm
        self._warm.move_to_end(number)
        while len(self._warm) > WARM_AGENTS:
            self._warm.popitem(last=False)
        self._take_in(connection, number, warm)
        return warm

    def _load(self, connection: Connection, number: int) -> _Warm:
        stored = lessons.read_specification(connection, number)
        if stored is None:
            raise NotFound("agent", str(number))
        spec = agent_spec(read_specification(stored))
        snapshot, event = lessons.read_snapshot(connection, number)
        _, version = lessons.read_position(connection, number)
        if snapshot is None:
            return _Warm(make_agent(spec, self._budget), 0, -1, 0, 0)
        agent = restore_agent(spec, snapshot, self._budget)
        return _Warm(agent, event, version, event, len(snapshot), told=event)

    def _take_in(self, connection: Connection, number: int, warm: _Warm) -> None:
        """Tell the agent every event that it does not know yet."""
        fresh = lessons.read_lessons(connection, number, warm.event)
        told = [event.episode for event in fresh if event.kind in ("finished", "abandoned")]
        played = lessons.read_played(connection, number, told)
        made = self._plans_made(connection, number, warm)
        for event in fresh:
            while made and made[0][0] < event.number:
                warm.agent.planned(_planned_as(*made.popleft()))
            _tell(warm, event, played, event.number > warm.version)
            if event.kind == "reported" and not warm.agent.observes:
                final = lessons.read_played(connection, number, [event.episode])[event.episode]
                warm.agent.report(event.episode, _final(final), final.ended)
            warm.event = event.number
        for plan in made:
            warm.agent.planned(_planned_as(*plan))
        warm.told = max(warm.told, warm.version)

    def _plans_made(
        self, connection: Connection, number: int, warm: _Warm
    ) -> deque[tuple[int, int]]:
        """Plans that were made elsewhere and played, for kinds that must know who played."""
        listens = type(warm.agent).planned is not Agent.planned
        if not listens or warm.told >= warm.version:
            return deque()
        return deque(lessons.read_plans_played(connection, number, warm.told))

    def _snapshot(self, warm: _Warm) -> bytes | None:
        """What the agent knows, when it is small or the log has grown much."""
        grown = warm.event > 1.1 * warm.snapshot_event + FEW_EVENTS
        if warm.version == warm.event or (warm.snapshot_size > SMALL_SNAPSHOT and not grown):
            return None
        snapshot = warm.agent.snapshot()
        warm.snapshot_event, warm.snapshot_size = warm.event, len(snapshot)
        return snapshot


def _tell(warm: _Warm, event: Any, played: dict[int, Played], new: bool) -> None:
    """One event; ``new`` when the last plan does not know it."""
    kind, episode, value = event.kind, event.episode, event.value
    if kind == "finished":
        one = played[episode]
        if one.plan is not None:
            warm.agent.plays(episode, _planned_as(one.version, one.plan))
        warm.agent.finish(episode, trajectory(one, bool(value), warm.agent.observes))
        warm.ends += new
    elif kind == "abandoned":
        one = played[episode]
        warm.agent.abandon(trajectory(one, bool(value), warm.agent.observes))
        warm.ends += new
    elif kind == "labelled":
        warm.corrections += new and (episode, event.voice) in warm.agent.experience.labels
        warm.agent.label(episode, value, event.voice)
        warm.labels += new
    elif kind == "withdrawn":
        warm.agent.withdraw(episode, event.voice)
        warm.corrections += new


def _planned_as(version: int, plan: int) -> int:
    """The number that a plan was made under: an exploit plan has one for each version."""
    return -2 - version if plan == EXPLOIT else plan


def trajectory(played: Played, whole: bool, observes: bool) -> Trajectory:
    """An episode as the mathematics takes it; its end only where ``whole``."""
    if observes:
        seen = np.array(played.observations, dtype=np.float64)
        ended = whole and played.ended
        return Trajectory.observed(seen.reshape(len(played.actions), -1), played.actions, ended)
    if not whole:
        return Trajectory(played.states, played.actions)
    return Trajectory(played.states, played.actions, _final(played), played.ended)


def _final(played: Played) -> int:
    return UNREPORTED if played.final is None else played.final


def _stored(episode: int, plan: Plan) -> PlannedPolicy:
    return PlannedPolicy(
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

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
