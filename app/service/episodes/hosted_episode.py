"""An episode in memory: its pinned plan, where it stands, and what was answered last.

Decisions are pure: a method `decide_…` returns an update (the command that stores it and the state
after it) and changes nothing. The commit applies it. So memory never runs ahead of the disk.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from app.errors import Conflict
from app.learning.randomness import number_of, stream_of
from app.service.agents.hosted_agent import HostedAgent, HostedPlan
from app.service.agents.specification import timeout_seconds
from app.service.labelling import slots
from app.service.labelling.slots import GivenLabel
from app.service.runtime.ids import episode_id
from app.storage.commands.episodes import EndEpisode, ReportFinal, step_tuple
from app.storage.commands.labels import EndWithLabel, SetLabels
from app.storage.commands.log import CounterChange, NewEvent
from app.storage.rows import EpisodeMode, EpisodeStatus, EventKind, LabelRow, StepRow
from app.storage.unit_of_work import StepTuple

EncodedState = tuple[int, Any]  # its index, and the state as it is stored


@dataclass(frozen=True, slots=True)
class EpisodeState:
    """Where an episode stands beside its steps. ``version`` counts the changes of it."""

    status: EpisodeStatus = EpisodeStatus.running
    version: int = 0
    labels: Mapping[int, GivenLabel] = field(default_factory=dict)  # in force, by slot
    label: int | None = None  # what they amount to, once there are enough
    final_known: bool = False


@dataclass(frozen=True, slots=True)
class EpisodeUpdate:
    """A decided change of an episode: how to store it, and the state after it."""

    command: EndEpisode | ReportFinal | SetLabels | EndWithLabel
    state: EpisodeState


class StepDecision(NamedTuple):
    """A decided step."""

    state: Any
    action: int
    memory: tuple[int, ...]
    row: StepTuple


class HostedEpisode:
    """One episode that is in use."""

    __slots__ = (
        "action",
        "agent",
        "id",
        "label_required",
        "labels_wanted",
        "length",
        "memory",
        "mode",
        "number",
        "pending",
        "plan",
        "policy_version",
        "standing",
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
    ) -> None:
        self.agent = agent
        self.number = number
        self.id = episode_id(agent.number, number)
        self.mode = mode
        self.plan = plan  # None once the episode is over
        self.policy_version = 0 if plan is None else plan.version
        self.label_required = True if plan is None else plan.label_required
        self.labels_wanted = labels_wanted
        self.standing = EpisodeState()
        self.memory: tuple[int, ...] = ()
        self.length = 0  # steps taken
        self.state: Any = None  # of the last step: an index, or an observation
        self.action = -1  # of the last step
        self.pending: asyncio.Future[list[Any]] | None = None  # the commit under way
        self.stream = stream_of(agent.seed, number)  # of its random numbers
        self.used = time.monotonic()

    @property
    def status(self) -> EpisodeStatus:
        """Whether it runs, and how it ended."""
        return self.standing.status

    @property
    def labels(self) -> Mapping[int, GivenLabel]:
        """The labels in force, by slot."""
        return self.standing.labels

    @property
    def label(self) -> int | None:
        """What the labels amount to, once there are enough."""
        return self.standing.label

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
        """Whether somebody who has not labelled it can."""
        return slots.has_room(self.labels, self.labels_wanted)

    # Steps

    def repeats(self, step: int | None, state: Any) -> bool:
        """Whether a request is a retry of the last step; a step that does not fit is refused."""
        if step is None or step == self.length:
            return False
        if step == self.length - 1:
            if state == self.state:
                return True
            raise Conflict(
                "step_conflict",
                f"Step {step} was answered for another state. Send the next step, {self.length}.",
            )
        raise Conflict("step_out_of_order", f"The next step is {self.length}, not {step}.")

    def check_running(self) -> None:
        """Refuse what only a running episode can take."""
        if self.standing.status is not EpisodeStatus.running:
            raise self._over()

    def _over(self) -> Conflict:
        return Conflict("episode_over", f"The episode is over: it is {self.standing.status}.")

    def decide_step(self, index: int, state: Any) -> StepDecision:
        """Choose the action of the next step in ``state``, whose index is ``index``."""
        assert self.plan is not None
        luck = number_of(self.stream, self.length)
        seen: Any = tuple(state) if self.agent.observes else index
        action, memory = self.plan.policy.act(self.length, seen, self.memory, luck)
        row = step_tuple(self.agent.number, self.number, self.length, index, action, state)
        return StepDecision(state, action, memory, row)

    def apply_step(self, decision: StepDecision) -> None:
        """Take over a step that was stored."""
        self.state, self.action, self.memory = decision.state, decision.action, decision.memory
        self.length += 1

    def replay(self, rows: Sequence[StepRow]) -> None:
        """Take the stored steps again, to where the episode stands."""
        for row in rows:
            state = row.state if row.observation is None else row.observation
            decision = self.decide_step(row.state, state)
            self.apply_step(decision._replace(action=row.action))  # what was answered counts

    # Ends

    def apply(self, update: EpisodeUpdate) -> None:
        """Take over an update that was stored."""
        self.standing = update.state
        if update.state.status is not EpisodeStatus.running:
            self.plan = None

    def after(self, update: EpisodeUpdate) -> HostedEpisode:
        """A copy of the episode as it will be after an update, to decide the next one from."""
        following = copy.copy(self)
        following.apply(update)
        return following

    def decide_end(
        self, final: EncodedState | None, ended: bool, now: int, length: int | None = None
    ) -> EpisodeUpdate:
        """Finish the episode, by default after the steps taken so far."""
        self.check_running()
        known = final is not None or ended
        event = NewEvent(EventKind.finished, now, self.number, final_known=known)
        status = self.status_without_label
        due = self.label_due(now)
        return self._end(status, final, ended, due, now, event, length, known)

    def decide_report(self, final: EncodedState | None, ended: bool, now: int) -> EpisodeUpdate:
        """Report the state that the last step before the horizon led to."""
        if final is None or self.status is EpisodeStatus.abandoned:
            raise self._over()
        if self.standing.final_known or self.length < self.agent.horizon:
            raise Conflict("already_finished", "The state that the episode ended in is known.")
        event = NewEvent(EventKind.reported, now, self.number)
        index, observation = _final_columns(final)
        assert index is not None
        command = ReportFinal(
            self.agent.number, self.number, self.standing.version, ended, index, observation, event
        )
        return EpisodeUpdate(command, self._next(final_known=True))

    def decide_abandon(self, now: int) -> EpisodeUpdate:
        """Abandon the episode: no label will come."""
        if self.status not in (EpisodeStatus.running, EpisodeStatus.awaiting_label):
            raise self._over()
        if self.labels:
            raise Conflict(
                "already_labelled", "The episode has a label. Withdraw it before abandoning."
            )
        if self.status is EpisodeStatus.running:
            event = NewEvent(EventKind.abandoned, now, self.number, final_known=False)
            return self._end(EpisodeStatus.abandoned, None, False, None, now, event, None, False)
        # Its transitions were learned when it finished.
        event = NewEvent(EventKind.given_up, now, self.number)
        return self._set_labels({}, EpisodeStatus.abandoned, None, event, None, None)

    def label_due(self, now: int) -> int | None:
        """When the label falls due if the episode waits for it from now on."""
        timeout = timeout_seconds(self.agent.specification)
        if timeout is None or not self.label_required:
            return None
        return now + int(1000 * timeout)

    def _end(
        self,
        status: EpisodeStatus,
        final: EncodedState | None,
        ended: bool,
        due: int | None,
        now: int,
        event: NewEvent,
        length: int | None,
        final_known: bool,
    ) -> EpisodeUpdate:
        command = EndEpisode(
            self.agent.number,
            self.number,
            self.standing.version,
            status,
            self.length if length is None else length,
            ended,
            *_final_columns(final),
            due,
            now,
            event,
        )
        return EpisodeUpdate(command, self._next(status=status, final_known=final_known))

    def _next(self, **changes: Any) -> EpisodeState:
        return replace(self.standing, version=self.standing.version + 1, **changes)

    # Labels

    def decide_label(self, slot: int, given: GivenLabel, settled: bool = False) -> EpisodeUpdate:
        """Set the label in a slot, replacing an earlier one; ``settled`` waits for no others."""
        labels = slots.with_label(self.labels, slot, given)
        # An episode that was settled with fewer labels than it wants stays settled.
        enough = settled or self.label is not None or len(labels) >= self.labels_wanted
        event = NewEvent(EventKind.labelled, given.at, self.number, slot, given.label)
        row = LabelRow(
            self.agent.number,
            self.number,
            slot,
            given.label,
            given.labeller,
            given.comment,
            given.at,
        )
        return self._hold(labels, enough, event, row)

    def decide_withdrawal(self, slot: int, labeller: str | None, now: int) -> EpisodeUpdate:
        """Withdraw the label in a slot, in the name of ``labeller``; the timeout starts again."""
        event = NewEvent(EventKind.withdrawn, now, self.number, slot)
        row = LabelRow(self.agent.number, self.number, slot, None, labeller, None, now)
        labels = slots.without_label(self.labels, slot)
        return self._hold(labels, False, event, row, self.label_due(now))

    def decide_settlement(self, now: int) -> EpisodeUpdate:
        """Let the labels that are there decide."""
        label = slots.majority(self.labels.values())
        event = NewEvent(EventKind.settled, now, self.number, label=label)
        return self._hold(self.labels, True, event, None)

    def _hold(
        self,
        labels: Mapping[int, GivenLabel],
        enough: bool,
        event: NewEvent,
        history: LabelRow | None,
        due: int | None = None,
    ) -> EpisodeUpdate:
        """Put labels in force; they are ``enough`` for the episode's label or not."""
        status = EpisodeStatus.labelled if enough else self.status_without_label
        label = slots.majority(labels.values()) if enough else None
        return self._set_labels(labels, status, label, event, history, due)

    def _set_labels(
        self,
        labels: Mapping[int, GivenLabel],
        status: EpisodeStatus,
        label: int | None,
        event: NewEvent,
        history: LabelRow | None,
        due: int | None,
    ) -> EpisodeUpdate:
        change = CounterChange(good=(label or 0) - (self.label or 0)).moved(self.status, status)
        command = SetLabels(
            self.agent.number,
            self.number,
            self.standing.version,
            status,
            len(labels),
            label,
            None if label is None else event.at,
            due,
            change,
            event,
            history,
        )
        return EpisodeUpdate(command, self._next(status=status, labels=labels, label=label))


def _final_columns(final: EncodedState | None) -> tuple[int | None, list[float] | None]:
    if final is None:
        return None, None
    index, state = final
    return index, state if isinstance(state, list) else None
