"""Updates of the labels of an episode: set, withdraw, settle. All functions are pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.service.agents.specification import due
from app.service.episodes.hosted_episode import EpisodeUpdate, HostedEpisode
from app.service.labelling import slots
from app.service.labelling.slots import UNKNOWN, Attention, CannotTell, GivenLabel
from app.storage.commands.labels import SetLabels
from app.storage.commands.log import CounterChange, NewEvent
from app.storage.rows import EpisodeStatus, EventKind, LabelRow


def set_label(
    episode: HostedEpisode, slot: int, given: GivenLabel, settled: bool = False
) -> EpisodeUpdate:
    """Set the label in a slot, replacing an earlier one; ``settled`` waits for no others.

    It also replaces an answer of "cannot tell" of the same labeller.
    """
    labels = slots.with_label(episode.labels, slot, given)
    # An episode that was settled with fewer labels than it wants stays settled.
    enough = settled or episode.label is not None or len(labels) >= episode.labels_wanted
    event = _label_event(episode, EventKind.labelled, given.at, slot, given.label)
    history = [
        replace(
            _entry(episode, slot, given.labeller, given.at, given.attention),
            label=given.label,
            comment=given.comment,
        )
    ]
    answers, answered = dict(episode.cannot_tell), episode.answer_slot(given.labeller)
    if answered is not None:
        del answers[answered]
        history.append(_entry(episode, answered, given.labeller, given.at))
    return _hold(episode, labels, answers, enough, [event], history)


def withdraw_label(
    episode: HostedEpisode, slot: int, labeller: str | None, now: int
) -> EpisodeUpdate:
    """Withdraw the label in a slot, in the name of ``labeller``; the timeout starts again."""
    event = _label_event(episode, EventKind.withdrawn, now, slot)
    labels = slots.without_label(episode.labels, slot)
    history = [_entry(episode, slot, labeller, now)]
    return _hold(
        episode, labels, episode.cannot_tell, False, [event], history, label_due(episode, now)
    )


def set_cannot_tell(episode: HostedEpisode, slot: int | None, given: CannotTell) -> EpisodeUpdate:
    """Take an answer of "cannot tell"; it replaces the label in ``slot``, if there is one."""
    place = episode.answer_slot(given.labeller)
    if place is None:
        place = slots.free_answer_slot(episode.cannot_tell, episode.labels_wanted)
    events = [NewEvent(EventKind.cannot_tell, given.at, episode.number, place)]
    history = [
        replace(
            _entry(episode, place, given.labeller, given.at, given.attention),
            comment=given.reason,
            cannot_tell=True,
        )
    ]
    labels = dict(episode.labels)
    if slot is not None:
        del labels[slot]
        events.append(_label_event(episode, EventKind.withdrawn, given.at, slot))
        history.insert(0, _entry(episode, slot, given.labeller, given.at))
    answers = {**episode.cannot_tell, place: given}
    settled = slot is None and episode.label is not None
    return _hold(episode, labels, answers, settled, events, history)


def withdraw_cannot_tell(
    episode: HostedEpisode, slot: int, labeller: str | None, now: int
) -> EpisodeUpdate:
    """Withdraw an answer of "cannot tell"; the timeout starts again."""
    event = NewEvent(EventKind.retracted, now, episode.number, slot)
    answers = {place: answer for place, answer in episode.cannot_tell.items() if place != slot}
    history = [_entry(episode, slot, labeller, now)]
    enough = len(episode.labels) >= episode.labels_wanted
    return _hold(
        episode, episode.labels, answers, enough, [event], history, label_due(episode, now)
    )


def settle(episode: HostedEpisode, now: int) -> EpisodeUpdate:
    """Settle the episode with the labels that it has."""
    label = slots.majority(episode.labels.values())
    event = NewEvent(EventKind.settled, now, episode.number, label=label)
    return _hold(episode, episode.labels, episode.cannot_tell, True, [event])


def give_up(episode: HostedEpisode, now: int) -> EpisodeUpdate:
    """Abandon a finished episode that waits for its label; its transitions stay learned."""
    event = NewEvent(EventKind.given_up, now, episode.number)
    return _set_labels(episode, {}, episode.cannot_tell, EpisodeStatus.abandoned, None, [event])


def label_due(episode: HostedEpisode, now: int) -> int | None:
    """When the label falls due if the episode waits for it from now on."""
    timeout = episode.agent.specification.label_timeout
    return due(timeout, now) if episode.label_required else None


def _entry(
    episode: HostedEpisode,
    slot: int,
    labeller: str | None,
    now: int,
    attention: Attention = UNKNOWN,
) -> LabelRow:
    """An entry of the label history; by default a withdrawal."""
    return LabelRow(
        episode.agent.number,
        episode.number,
        slot,
        None,
        labeller,
        None,
        now,
        guidelines_version=attention.guidelines_version,
        seconds=attention.seconds,
    )


def _hold(
    episode: HostedEpisode,
    labels: Mapping[int, GivenLabel],
    answers: Mapping[int, CannotTell],
    enough: bool,
    events: Sequence[NewEvent],
    history: Sequence[LabelRow] = (),
    due: int | None = None,
) -> EpisodeUpdate:
    """Put labels and answers in force; ``enough`` says that the labels decide.

    Once there are as many answers of "cannot tell" as labels wanted, the episode stops waiting: its
    labels decide, and without labels it is completed. An evaluation stays completed, because its
    label counts only in the evaluation of its policy.
    """
    is_undecidable = len(answers) >= episode.labels_wanted
    status, label = episode.status_without_label, None
    if enough or (is_undecidable and labels):
        status, label = EpisodeStatus.labelled, slots.majority(labels.values())
    elif is_undecidable:
        status = EpisodeStatus.completed
    if episode.is_evaluation:
        status = EpisodeStatus.completed
    return _set_labels(episode, labels, answers, status, label, events, history, due)


def _set_labels(
    episode: HostedEpisode,
    labels: Mapping[int, GivenLabel],
    answers: Mapping[int, CannotTell],
    status: EpisodeStatus,
    label: int | None,
    events: Sequence[NewEvent],
    history: Sequence[LabelRow] = (),
    due: int | None = None,
) -> EpisodeUpdate:
    good = 0 if episode.is_evaluation else (label or 0) - (episode.label or 0)
    change = CounterChange(good=good).moved(episode.status, status)
    command = SetLabels(
        episode.agent.number,
        episode.number,
        episode.standing.version,
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
    state = replace(
        episode.standing.next(), status=status, labels=labels, label=label, cannot_tell=answers
    )
    return EpisodeUpdate(command, state)


def _label_event(
    episode: HostedEpisode,
    kind: EventKind,
    now: int,
    slot: int | None = None,
    label: int | None = None,
) -> NewEvent:
    """An event of a label, which teaches unless the episode is an evaluation."""
    return NewEvent(kind, now, episode.number, slot, label, teaches=not episode.is_evaluation)
