"""An episode in memory: its pinned plan, its status and labels, and its last step.

Its ends are decided in `endings`, its labels in `labelling.label_updates`. A decision is pure: it
returns an update (the command that stores it, and the state after it) and changes nothing. The
commit applies the update. So memory never runs ahead of the disk.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from app.errors import Conflict, InvalidValue
from app.learning.randomness import SECOND_NUMBER, number_of, stream_of
from app.planning.policies.alternatives import another_action
from app.service.agents.hosted_agent import (
    HostedAgent,
    HostedPlan,
    StoredState,
)
from app.service.labelling import slots
from app.service.labelling.slots import CannotTell, GivenLabel
from app.service.runtime.ids import episode_id
from app.storage.commands.episodes import EndEpisode, ReportFinal, step_tuple
from app.storage.commands.labels import EndWithLabel, SetLabels
from app.storage.commands.log import Logged
from app.storage.queries.episodes import StoredEpisode
from app.storage.rows import Actor, EpisodeMode, EpisodeStatus, StepDetail, StepRow
from app.storage.unit_of_work import StepTuple


@dataclass(frozen=True, slots=True)
class EpisodeState:
    """The status and the labels of an episode. ``version`` counts its changes."""

    status: EpisodeStatus = EpisodeStatus.running
    version: int = 0
    labels: Mapping[int, GivenLabel] = field(default_factory=dict)  # in force, by slot
    label: int | None = None  # their majority, once there are enough
    final_known: bool = False
    cannot_tell: Mapping[int, CannotTell] = field(default_factory=dict)  # in force, by slot

    def next(self) -> EpisodeState:
        """The same state under the next version, to derive a changed state from."""
        return replace(self, version=self.version + 1)


@dataclass(frozen=True, slots=True)
class EpisodeUpdate:
    """A decided change of an episode: how to store it, and the state after it."""

    command: EndEpisode | ReportFinal | SetLabels | EndWithLabel
    state: EpisodeState
    correction: StepDetail | None = None  # of the last step

    @property
    def teaches(self) -> bool:
        """Whether its labels are something to learn from; "cannot tell" is not."""
        events = self.command.events if isinstance(self.command, SetLabels) else ()
        return bool(events) and events[-1].is_lesson


class Told(NamedTuple):
    """What a client says of a step beside its state, with actions by their indices."""

    action: int | None = None  # of this step: the client acts itself
    executed: int | None = None  # in the step before
    allowed: tuple[int, ...] | None = None  # what is possible in this step


_NOTHING = Told()


class StepDecision(NamedTuple):
    """A decided step. ``before`` and ``previous`` are the memory and the action before it."""

    state: StoredState
    action: int
    memory: tuple[int, ...]
    row: StepTuple
    before: tuple[int, ...]
    previous: int
    details: Sequence[StepDetail] = ()


class HostedEpisode:
    """One episode that is in use."""

    __slots__ = (
        "action",
        "agent",
        "before",
        "id",
        "label_required",
        "labels_wanted",
        "learns_transitions",
        "length",
        "memory",
        "mode",
        "number",
        "pending",
        "plan",
        "policy_version",
        "previous",
        "standing",
        "started",
        "state",
        "stream",
        "used",
    )

    def __init__(
        self,
        agent: HostedAgent,
        number: int,
        mode: EpisodeMode,
        plan: HostedPlan | None,
        labels_wanted: int,
        learns_transitions: bool = True,
    ) -> None:
        self.agent = agent
        self.number = number
        self.id = episode_id(agent.number, number)
        self.mode = mode
        self.plan = plan  # None once the episode is over
        self.policy_version = 0 if plan is None else plan.version
        self.label_required = requires_label(plan, mode)
        self.learns_transitions = learns_transitions
        self.labels_wanted = labels_wanted
        self.standing = EpisodeState()
        self.memory: tuple[int, ...] = ()
        self.before: tuple[int, ...] = ()  # the memory before the last step
        self.length = 0  # steps taken
        self.state: StoredState | None = None  # of the last step
        self.action = -1  # done in the last step
        self.previous = -1  # done in the step before it
        self.pending: asyncio.Future[list[Logged]] | None = None  # the commit under way
        self.stream = stream_of(agent.seed, number)  # of its random numbers
        self.used = time.monotonic()
        self.started: float | None = None  # by the same clock; None if it was loaded

    @property
    def status(self) -> EpisodeStatus:
        """The status of the episode."""
        return self.standing.status

    @property
    def labels(self) -> Mapping[int, GivenLabel]:
        """The labels in force, by slot."""
        return self.standing.labels

    @property
    def label(self) -> int | None:
        """The majority of the labels, once there are enough."""
        return self.standing.label

    @property
    def cannot_tell(self) -> Mapping[int, CannotTell]:
        """The answers of "cannot tell" in force, by slot."""
        return self.standing.cannot_tell

    @property
    def is_evaluation(self) -> bool:
        """Whether the episode is an evaluation, whose result is not learned."""
        return self.mode is EpisodeMode.evaluate

    @property
    def is_changing(self) -> bool:
        """Whether a commit is under way. The next change waits for it."""
        return self.pending is not None and not self.pending.done()

    @property
    def status_without_label(self) -> EpisodeStatus:
        """Its status once it is over, until it is labelled."""
        return EpisodeStatus.awaiting_label if self.label_required else EpisodeStatus.completed

    @property
    def ended_at_horizon(self) -> bool:
        """Whether its last step ended it."""
        over = self.status not in (EpisodeStatus.running, EpisodeStatus.abandoned)
        return over and self.length == self.agent.horizon

    def slot_of(self, labeller: str | None) -> int | None:
        """The slot that holds a labeller's label."""
        return slots.slot_of(self.labels, self.labels_wanted, labeller)

    def has_room(self) -> bool:
        """Whether the episode takes one more label."""
        return slots.has_room(self.labels, self.labels_wanted)

    def answer_slot(self, labeller: str | None) -> int | None:
        """The slot that holds a labeller's answer of "cannot tell"."""
        return slots.answer_slot(self.cannot_tell, labeller)

    # Steps

    def repeats(self, step: int | None, state: StoredState, told: Told | None = None) -> bool:
        """Whether a request is a retry of the last step; a step that does not fit is refused."""
        if step is None or step == self.length:
            return False
        if step == self.length - 1:
            if state != self.state:
                raise self._conflict(step, "was answered for another state")
            if told is not None:
                if told.action not in (None, self.action):
                    raise self._conflict(step, "was recorded with another action")
                if told.executed not in (None, self.previous):
                    raise self._conflict(step, "was sent with another executed action")
            return True
        raise Conflict("step_out_of_order", f"The next step is {self.length}, not {step}.")

    def _conflict(self, step: int, reason: str) -> Conflict:
        detail = f"Step {step} {reason}. Send the next step, {self.length}."
        return Conflict("step_conflict", detail)

    def check_running(self) -> None:
        """Raise a conflict unless the episode is running."""
        if self.standing.status is not EpisodeStatus.running:
            raise self.over()

    def over(self) -> Conflict:
        """The error of a request that came after the end of the episode."""
        return Conflict("episode_over", f"The episode is over: it is {self.standing.status}.")

    def decide_step(self, index: int, state: StoredState, told: Told | None = None) -> StepDecision:
        """Choose the action of the next step in ``state``, whose index is ``index``."""
        assert self.plan is not None
        if told is not None or self.plan.actor is not None:
            return self._decide_told(index, state, told or _NOTHING)
        luck = number_of(self.stream, self.length)
        seen = self._seen(index, state)
        action, memory = self.plan.policy.act(self.length, seen, self.memory, luck)
        row = step_tuple(self.agent.number, self.number, self.length, index, action, state)
        return StepDecision(state, action, memory, row, self.memory, self.action)

    def _decide_told(self, index: int, state: StoredState, told: Told) -> StepDecision:
        """The next step of a client that says more than its state."""
        assert self.plan is not None
        policy, step, details = self.plan.policy, self.length, []
        before, previous = self.memory, self.action
        correction = self.decide_correction(told.executed)
        if correction is not None and told.executed is not None:
            details.append(correction)
            before, previous = self._memory_after(told.executed), told.executed
        luck, seen = number_of(self.stream, step), self._seen(index, state)
        answer, _ = policy.act(step, seen, before, luck)
        if told.allowed is not None and answer not in told.allowed:
            again = number_of(self.stream, step + SECOND_NUMBER)
            answer = another_action(policy, step, seen, before, again, told.allowed)
        row = step_tuple(self.agent.number, self.number, step, index, answer, state)
        action, actor = answer, self.plan.actor
        if told.action is not None:
            action, actor = told.action, Actor.client
        memory = policy.follow(step, seen, before, luck, action)
        if actor is not None or told.allowed is not None:
            executed = None if action == answer else action
            details.append(self._detail(step, actor, executed, told.allowed))
        return StepDecision(state, action, memory, row, before, previous, details)

    def decide_correction(self, executed: int | None) -> StepDetail | None:
        """What to record where ``executed`` was done in the last step; None for nothing new."""
        if executed is None or (self.length and executed == self.action):
            return None
        if not self.length:
            raise InvalidValue("executed", "nothing at the first step: no action was done before")
        return self._detail(self.length - 1, Actor.override, executed)

    def _detail(
        self,
        step: int,
        actor: Actor | None,
        executed: int | None,
        allowed: Sequence[int] | None = None,
    ) -> StepDetail:
        listed = None if allowed is None else list(allowed)
        return StepDetail(self.agent.number, self.number, step, actor, executed, listed)

    def _memory_after(self, action: int) -> tuple[int, ...]:
        """The policy's memory where ``action`` was done in the last step."""
        assert self.plan is not None
        assert self.state is not None
        step, state = self.length - 1, self.state
        index = self.agent.states.encode(state, "state") if isinstance(state, list) else state
        luck = number_of(self.stream, step)
        return self.plan.policy.follow(step, self._seen(index, state), self.before, luck, action)

    def _seen(self, index: int, state: StoredState) -> Any:
        """The state as the policy takes it: its index, or the numbers of a kind that observes."""
        if self.agent.observes and isinstance(state, list):
            return tuple(state)
        return index

    def apply_step(self, decision: StepDecision) -> None:
        """Apply a step that was stored."""
        self.state, self.action, self.memory = decision.state, decision.action, decision.memory
        self.before, self.previous = decision.before, decision.previous
        self.length += 1

    def _replay(self, rows: Sequence[StepRow]) -> None:
        """Take the stored steps again, to restore the memory of the policy."""
        assert self.plan is not None
        for row in rows:
            self.before, self.previous = self.memory, self.action
            self.state = row.state if row.observation is None else row.observation
            self.action = row.action  # what was done counts, whoever chose it
            self.length += 1
            self.memory = self._memory_after(row.action)

    # Updates

    def apply(self, update: EpisodeUpdate) -> None:
        """Apply an update that was stored."""
        ends = self.status is EpisodeStatus.running is not update.state.status
        self.standing = update.state
        if update.correction is not None and update.correction.executed is not None:
            self.action = update.correction.executed
        if ends:
            self.plan = None
            if self.started is not None and self.status is not EpisodeStatus.abandoned:
                self.agent.pace.episode.record(time.monotonic() - self.started)

    def after(self, update: EpisodeUpdate) -> HostedEpisode:
        """A copy of the episode as it will be after an update, to decide the next one from."""
        following = copy.copy(self)
        following.started = None  # it is not played
        following.apply(update)
        return following

    @classmethod
    def from_stored(
        cls, agent: HostedAgent, stored: StoredEpisode, plan: HostedPlan | None
    ) -> HostedEpisode:
        """Load an episode from its rows; ``plan`` is None once the episode is over."""
        row = stored.row
        episode = cls(agent, row.number, row.mode, plan, row.labels_wanted, row.learn_transitions)
        if plan is not None:
            episode._replay(stored.steps)
        elif stored.steps:
            last = stored.steps[-1]
            episode.state = last.state if last.observation is None else last.observation
            episode.action, episode.length = last.action, len(stored.steps)
            if len(stored.steps) > 1:
                episode.previous = stored.steps[-2].action
        episode.policy_version, episode.label_required = row.policy_version, row.label_required
        episode.standing = EpisodeState(
            row.status,
            row.version,
            slots.labels_in_force(stored.history),
            row.label,
            row.final is not None or row.ended,
            slots.cannot_tell_in_force(stored.history),
        )
        return episode

    def start(self) -> HostedEpisode:
        """Note that the episode starts now; returns it."""
        self.started = time.monotonic()
        return self

    def touch(self) -> None:
        """Note that the episode and its agent are in use."""
        self.used = self.agent.touch()

    def begin_commit(self, pending: asyncio.Future[list[Logged]]) -> None:
        """Note that a commit is under way; the next change waits for it."""
        self.pending = pending


def requires_label(plan: HostedPlan | None, mode: EpisodeMode) -> bool:
    """Whether an episode waits for a label once it is over."""
    return mode is not EpisodeMode.evaluate and (plan is None or plan.label_required)
