"""An agent in memory: its plans in force, and how far its log and its learning have come."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from app.agents.insight import Insight
from app.learning.world.policy import Policy
from app.planning.policies.uniform import UniformPolicy
from app.service.agents.pace import Pace
from app.service.agents.spaces import BoxCodec, action_codec, state_codec
from app.service.agents.specification import allowed_actions, fallback_actions
from app.service.runtime.ids import agent_id
from app.storage.rows import Actor, AgentCounters, AgentRow, EpisodeMode
from app.wire.agents import Specification
from app.wire.base import State

StoredState = int | list[float]
"""A state as it is stored: its index, or the numbers that were observed."""
EncodedState = tuple[int, StoredState]
"""The index of a state, and the state as it is stored."""

DEFAULT_DEADLINE_MS = 100
EXPLOIT = -1  # the episode number of the plan without bonuses


class LearningState(StrEnum):
    """What the learning of an agent is doing."""

    idle = "idle"
    queued = "queued"
    running = "running"
    failed = "failed"


@dataclass(frozen=True, slots=True)
class HostedPlan:
    """A policy with its value and gap. ``episode`` is the number that it was planned for."""

    version: int
    episode: int | None
    policy: Policy
    label_required: bool = True
    planner: str = "none"
    value: float = 0.5
    gap: float = 1.0
    seconds: float = 0.0
    actor: Actor | None = None  # who acts in place of a policy


class HostedAgent:
    """One agent that is in use. Memory never runs ahead of the disk: commits update it."""

    def __init__(self, row: AgentRow, specification: Specification) -> None:
        self.number = row.id
        self.id = agent_id(row.id)
        self.specification = specification
        self.states = state_codec(specification.states)
        self.actions = action_codec(specification.actions)
        self.horizon = specification.horizon
        self.seed = specification.seed
        self.observes = specification.algorithm.observes
        self.allowed = allowed_actions(specification)  # of the states that have limits
        self._unplanned = self._unplanned_policy()
        self.paused = row.paused
        self.deleted = False
        self.next_episode = row.episodes
        self.running = row.running
        self.last_event = row.last_event
        self.last_lesson = row.last_lesson
        self.learned = row.learned
        self.version = row.policy_version
        self.plans: Mapping[int, HostedPlan] = {}
        self.pinned_version = row.pinned_version
        self._pinned_plans: Mapping[int, HostedPlan] = {}
        self.learning_error = row.learning_error
        self.learning = LearningState.failed if row.learning_error else LearningState.idle
        self.pace = Pace()
        self.used = time.monotonic()
        self._insight: tuple[int, Insight | None] = (-1, None)  # version, and its insight
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def is_learning(self) -> bool:
        """Whether a learning job is queued or runs."""
        return self.learning in (LearningState.queued, LearningState.running)

    @property
    def behind(self) -> bool:
        """Whether there are events that it has not learned from."""
        return self.learned < self.last_lesson

    @property
    def cells(self) -> int:
        """Horizon x states x actions: how large its tables are."""
        return self.horizon * self.states.size * self.actions.size

    @property
    def is_waited_for(self) -> bool:
        """Whether a request waits for its learning."""
        return bool(self._waiters)

    def encode_state(self, state: object, field: str) -> EncodedState:
        """The index of a state, and the state as it is stored."""
        index = self.states.encode(state, field)
        if isinstance(self.states, BoxCodec):
            return index, self.states.observation(state, field)
        return index, index

    def encode_action(self, action: object, field: str) -> int | None:
        """The index of an action, if there is one."""
        return None if action is None else self.actions.encode(action, field)

    def decode_state(self, index: int, observation: list[float] | None) -> State:
        """A state as the client sent it."""
        return self.states.decode(index) if observation is None else observation

    @property
    def deadline(self) -> float | None:
        """Seconds to wait for a policy before the fallback action is played; None without one."""
        if self.specification.fallback_action is None:
            return None
        return (self.specification.deadline_ms or DEFAULT_DEADLINE_MS) / 1000.0

    @property
    def may_act_at_random(self) -> bool:
        """Whether an episode may be played without a policy."""
        return self.specification.max_exploration == 1.0

    def unplanned(self, version: int) -> HostedPlan:
        """What is played without a plan: the fallback action, or any possible action."""
        policy, actor = self._unplanned
        return HostedPlan(version, None, policy, actor=actor)

    def _unplanned_policy(self) -> tuple[UniformPolicy, Actor | None]:
        A, fallback = self.actions.size, fallback_actions(self.specification)
        if fallback is not None:
            return UniformPolicy(A, np.eye(A, dtype=np.bool_)[list(fallback)]), Actor.fallback
        if not self.allowed:
            return UniformPolicy(A), None
        mask = np.ones((self.states.size, A), dtype=np.bool_)
        for state, actions in self.allowed.items():
            mask[state] = np.isin(np.arange(A), actions)
        return UniformPolicy(A, mask), None

    def chooser(self, mode: EpisodeMode) -> Callable[[int], HostedPlan]:
        """What gives an episode that starts now its plan, by its number."""
        plans, unplanned = self.acting_plans, self.unplanned(self.acting_version)
        share = self.specification.max_exploration

        def choose(episode: int) -> HostedPlan:
            explores = mode is EpisodeMode.learn and may_explore(episode, share)
            return choose_plan(plans, episode, explores) if plans else unplanned

        return choose

    def plan_for(self, episode: int, mode: EpisodeMode) -> HostedPlan:
        """The plan of an episode that starts now."""
        return self.chooser(mode)(episode)

    @property
    def has_pinned_plans(self) -> bool:
        """Whether a pinned version is in force."""
        return bool(self._pinned_plans)

    @property
    def acting_plans(self) -> Mapping[int, HostedPlan]:
        """The plans that episodes start on: the newest, or those of a pinned version."""
        return self._pinned_plans or self.plans

    @property
    def acting_version(self) -> int:
        """The version of these plans."""
        pinned = self.pinned_version
        return pinned if pinned is not None and self._pinned_plans else self.version

    def shares_plans(self, mode: EpisodeMode) -> bool:
        """Whether the next episode would share its plan with a running episode."""
        if self._pinned_plans:
            return False  # learning makes no plans of an earlier version
        shared = self.running > 0 and self.next_episode not in self.plans
        return not self.plans or (mode is EpisodeMode.learn and shared)

    def newest_plan(self) -> HostedPlan | None:
        """The plan in force that the view of the agent shows."""
        plans = self.acting_plans
        numbers = [number for number in plans if number != EXPLOIT]
        return plans[max(numbers)] if numbers else None

    def representative_plan(self) -> HostedPlan | None:
        """The plan that represents the agent: the exploit plan, if there is one."""
        return self.acting_plans.get(EXPLOIT) or self.newest_plan()

    def touch(self) -> float:
        """Note that the agent is in use; returns the time."""
        self.used = time.monotonic()
        return self.used

    def set_paused(self, paused: bool) -> None:
        """Pause the agent, or let it start episodes again."""
        self.paused = paused

    def update_counters(self, counters: AgentCounters) -> None:
        """Take over the counters of a commit."""
        self.next_episode = counters.episodes
        self.running = counters.running
        self.last_event = counters.last_event
        self.last_lesson = counters.last_lesson

    def restore_plans(self, plans: Mapping[int, HostedPlan]) -> None:
        """Put the stored plans of the version in force back in memory."""
        self.plans = plans

    def pin(self, version: int | None, plans: Mapping[int, HostedPlan]) -> None:
        """Have episodes start on the plans of a version; None starts them on the newest again."""
        self.pinned_version, self._pinned_plans = version, plans

    def put_in_force(self, plans: Mapping[int, HostedPlan], version: int, learned: int) -> None:
        """Put published plans in force; more plans of the same version join those in force."""
        self.plans = {**(self.plans if version == self.version else {}), **plans}
        self.version = version
        self.mark_learned(learned)

    def mark_learned(self, learned: int) -> None:
        """Note that everything up to an event is learned."""
        self.learned = learned
        self.learning_error = None

    def queue_learning(self) -> None:
        """Note that a job waits for its turn."""
        self.learning = LearningState.queued

    def start_learning(self) -> None:
        """Note that a job runs."""
        self.learning = LearningState.running

    def fail_learning(self, reason: str) -> None:
        """Note that learning failed; the policy stays in force."""
        self.learning, self.learning_error = LearningState.failed, reason

    def end_learning(self) -> None:
        """Note that there is nothing left to learn."""
        self.learning, self.learning_error = LearningState.idle, None

    def known_insight(self) -> tuple[bool, Insight | None]:
        """Whether the insight of the policy in force is in memory, and that insight."""
        version, insight = self._insight
        return version == self.version, insight

    def keep_insight(self, version: int, insight: Insight | None) -> None:
        """Keep the insight of a policy version in memory."""
        self._insight = version, insight

    def mark_deleted(self) -> None:
        """Note that the agent is deleted, and wake the requests that wait for it."""
        self.deleted = True
        self.wake()

    async def wait(self, seconds: float) -> None:
        """Wait until learning pauses, but not longer than ``seconds``."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await asyncio.wait([waiter], timeout=seconds)
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def wake(self) -> None:
        """Wake the requests that wait for learning."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


def may_explore(episode: int, share: float) -> bool:
    """Whether an episode is one of the ``share`` of all episodes that may explore.

    Of the first n episodes floor(n share) may, spread evenly: a pure function of the number.
    """
    return math.floor((episode + 1) * share) > math.floor(episode * share)


def choose_plan(plans: Mapping[int, HostedPlan], episode: int, explores: bool) -> HostedPlan:
    """The plan of an episode, from the plans in force: a pure function of its number."""
    if not explores and EXPLOIT in plans:
        return plans[EXPLOIT]
    if episode in plans:
        return plans[episode]
    learning = sorted(number for number in plans if number != EXPLOIT)
    return plans[learning[episode % len(learning)]]
