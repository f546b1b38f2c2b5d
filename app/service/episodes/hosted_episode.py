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
from app.service.agents.hosted_agent import (
    EncodedState,
    HostedAgent,
    HostedPlan,
    StoredState,
)
from app.service.agents.specification import timeout_seconds
from app.service.labelling import slots
from app.service.labelling.slots import CannotTell, GivenLabel
from app.service.runtime.ids import episode_id
from app.storage.commands.episodes import EndEpisode, ReportFinal, step_tuple
from app.storage.commands.labels import EndWithLabel, SetLabels
from app.storage.commands.log import CounterChange, Logged, NewEvent
from app.storage.rows import (
    EpisodeMode,
    EpisodeStatus,
    EventKind,
    LabelRow,
    StepRow,
)
from app.storage.unit_of_work import StepTuple


@dataclass(frozen=True, slots=True)
class EpisodeState:
    """Where an episode stands beside its steps. ``version`` counts the changes of it."""

    status: EpisodeStatus = EpisodeStatus.running
    version: int = 0
    labels: Mapping[int, GivenLabel] = field(default_factory=dict)  # in force, by slot
    label: int | None = None  # what they amount to, once there are enough
    final_known: bool = False
    cannot_tell: Mapping[int, CannotTell] = field(default_factory=dict)  # in force, by slot


@dataclass(frozen=True, slots=True)
class EpisodeUpdate:
    """A decided change of an episode: how to store it, and the state after it."""

    command: EndEpisode | ReportFinal | SetLabels | EndWithLabel
    state: EpisodeState

    @property
    def teaches(self) -> bool:
        """Whether its labels are something to learn from; "cannot tell" is not."""
        events = self.command.events if isinstance(self.command, SetLabels) else ()
        return bool(events) and events[-1].is_lesson


class StepDecision(NamedTuple):
    """A decided step."""

    state: StoredState
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
        "learns_transitions",
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
        self.length = 0  # steps taken
        self.state: StoredState | None = None  # of the last step
        self.action = -1  # of the last step
        self.pending: asyncio.Future[list[Logged]] | None = None  # the commit under way
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
    def cannot_tell(self) -> Mapping[int, CannotTell]:
        """The answers of "cannot tell" in force, by slot."""
        return self.standing.cannot_tell

    @property
    def is_evaluation(self) -> bool:
        """Whether its result is kept apart from the model."""
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
        """Whether somebody who has not labelled it can."""
        return slots.has_room(self.labels, self.labels_wanted)

    def answer_slot(self, labeller: str | None) -> int | None:
        """The slot that holds a labeller's answer of "cannot tell"."""
        return slots.answer_slot(self.cannot_tell, labeller)

    # Steps

    def repeats(self, step: int | None, state: StoredState) -> bool:
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

    def decide_step(self, index: int, state: StoredState) -> StepDecision:
        """Choose the action of the next step in ``state``, whose index is ``index``."""
        assert self.plan is not None
        luck = number_of(self.stream, self.length)
        seen: Any = index  # or the numbers, for policies that act on these
        if self.agent.observes and isinstance(state, list):
            seen = tuple(state)
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
        event = self._event(EventKind.finished, now, final_known=known)
        status = self.status_without_label
        due = self.label_due(now)
        return self._end(status, final, ended, due, now, event, length, known)

    def decide_report(self, final: EncodedState | None, ended: bool, now: int) -> EpisodeUpdate:
        """Report the state that the last step before the horizon led to."""
        if final is None or self.status is EpisodeStatus.abandoned:
            raise self._over()
        if self.standing.final_known or self.length < self.agent.horizon:
            raise Conflict("already_finished", "The state that the episode ended in is known.")
        event = self._event(EventKind.reported, now)
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
            event = self._event(EventKind.abandoned, now, final_known=False)
            return self._end(EpisodeStatus.abandoned, None, False, None, now, event, None, False)
        # Its transitions were learned when it finished.
        event = NewEvent(EventKind.given_up, now, self.number)
        return self._set_labels({}, self.cannot_tell, EpisodeStatus.abandoned, None, [event])

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

    def _event(self, kind: EventKind, now: int, final_known: bool | None = None) -> NewEvent:
        """An event of the end of the episode, which teaches its transitions."""
        teaches = self.learns_transitions
        return NewEvent(kind, now, self.number, final_known=final_known, teaches=teaches)

    def _label_event(
        self, kind: EventKind, now: int, slot: int | None = None, label: int | None = None
    ) -> NewEvent:
        """An event of a label, which teaches unless the episode is an evaluation."""
        return NewEvent(kind, now, self.number, slot, label, teaches=not self.is_evaluation)

    def _next(self, **changes: Any) -> EpisodeState:
        return replace(self.standing, version=self.standing.version + 1, **changes)

    # Labels

    def decide_label(self, slot: int, given: GivenLabel, settled: bool = False) -> EpisodeUpdate:
        """Set the label in a slot, replacing an earlier one; ``settled`` waits for no others.

        It also replaces an answer of "cannot tell" of the same labeller.
        """
        labels = slots.with_label(self.labels, slot, given)
        # An episode that was settled with fewer labels than it wants stays settled.
        enough = settled or self.label is not None or len(labels) >= self.labels_wanted
        event = self._label_event(EventKind.labelled, given.at, slot, given.label)
        history = [
            self._entry(slot, given.labeller, given.at, label=given.label, comment=given.comment)
        ]
        answers, answered = dict(self.cannot_tell), self.answer_slot(given.labeller)
        if answered is not None:
            del answers[answered]
            history.append(self._entry(answered, given.labeller, given.at))
        return self._hold(labels, answers, enough, [event], history)

    def decide_withdrawal(self, slot: int, labeller: str | None, now: int) -> EpisodeUpdate:
        """Withdraw the label in a slot, in the name of ``labeller``; the timeout starts again."""
        event = self._label_event(EventKind.withdrawn, now, slot)
        labels = slots.without_label(self.labels, slot)
        history = [self._entry(slot, labeller, now)]
        return self._hold(labels, self.cannot_tell, False, [event], history, self.label_due(now))

    def decide_cannot_tell(self, slot: int | None, given: CannotTell) -> EpisodeUpdate:
        """Take an answer of "cannot tell"; it replaces the label in ``slot``, if there is one."""
        place = self.answer_slot(given.labeller)
        if place is None:
            place = slots.free_answer_slot(self.cannot_tell, self.labels_wanted)
        events = [NewEvent(EventKind.cannot_tell, given.at, self.number, place)]
        history = [
            self._entry(place, given.labeller, given.at, comment=given.reason, cannot_tell=True)
        ]
        labels = dict(self.labels)
        if slot is not None:
            del labels[slot]
            events.append(self._label_event(EventKind.withdrawn, given.at, slot))
            history.insert(0, self._entry(slot, given.labeller, given.at))
        answers = {**self.cannot_tell, place: given}
        settled = slot is None and self.label is not None
        return self._hold(labels, answers, settled, events, history)

    def decide_retraction(self, slot: int, labeller: str | None, now: int) -> EpisodeUpdate:
        """Withdraw an answer of "cannot tell"; the timeout starts again."""
        event = NewEvent(EventKind.retracted, now, self.number, slot)
        answers = {place: answer for place, answer in self.cannot_tell.items() if place != slot}
        history = [self._entry(slot, labeller, now)]
        enough = len(self.labels) >= self.labels_wanted
        return self._hold(self.labels, answers, enough, [event], history, self.label_due(now))

    def decide_settlement(self, now: int) -> EpisodeUpdate:
        """Let the labels that are there decide."""
        label = slots.majority(self.labels.values())
        event = NewEvent(EventKind.settled, now, self.number, label=label)
        return self._hold(self.labels, self.cannot_tell, True, [event])

    def _entry(
        self,
        slot: int,
        labeller: str | None,
        now: int,
        label: int | None = None,
        comment: str | None = None,
        cannot_tell: bool = False,
    ) -> LabelRow:
        """An entry of the label history; by default a withdrawal."""
        return LabelRow(
            self.agent.number, self.number, slot, label, labeller, comment, now, cannot_tell
        )

    def _hold(
        self,
        labels: Mapping[int, GivenLabel],
        answers: Mapping[int, CannotTell],
        enough: bool,
        events: Sequence[NewEvent],
        history: Sequence[LabelRow] = (),
        due: int | None = None,
    ) -> EpisodeUpdate:
        """Put labels and answers in force; ``enough`` says that the labels decide.

        As many answers of "cannot tell" as labels are wanted end the wait: the labels that are
        there decide, and an episode without any is completed. An evaluation stays completed: its
        label counts only in the evaluation of its policy.
        """
        is_undecidable = len(answers) >= self.labels_wanted
        status, label = self.status_without_label, None
        if enough or (is_undecidable and labels):
            status, label = EpisodeStatus.labelled, slots.majority(labels.values())
        elif is_undecidable:
            status = EpisodeStatus.completed
        if self.is_evaluation:
            status = EpisodeStatus.completed
        return self._set_labels(labels, answers, status, label, events, history, due)

    def _set_labels(
        self,
        labels: Mapping[int, GivenLabel],
        answers: Mapping[int, CannotTell],
        status: EpisodeStatus,
        label: int | None,
        events: Sequence[NewEvent],
        history: Sequence[LabelRow] = (),
        due: int | None = None,
    ) -> EpisodeUpdate:
        good = 0 if self.is_evaluation else (label or 0) - (self.label or 0)
        change = CounterChange(good=good).moved(self.status, status)
        command = SetLabels(
            self.agent.number,
            self.number,
            self.standing.version,
            status,
            len(labels),
            len(answers),
            label,
            None if label is None else events[-1].at,
            due,
            change,
            events,
            history,
        )
        state = self._next(status=status, labels=labels, label=label, cannot_tell=answers)
        return EpisodeUpdate(command, state)


def requires_label(plan: HostedPlan | None, mode: EpisodeMode) -> bool:
    """Whether an episode waits for a label once it is over."""
    return mode is not EpisodeMode.evaluate and (plan is None or plan.label_required)


def _final_columns(final: EncodedState | None) -> tuple[int | None, list[float] | None]:
    if final is None:
        return None, None
    index, state = final
    return index, state if isinstance(state, list) else None
