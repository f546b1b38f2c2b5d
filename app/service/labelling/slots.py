"""Label slots: assign, replace and withdraw labels on one episode.

An episode that wants k labels has the slots 0 .. k-1. If it wants one label, all labellers share
the slot. If it wants several, each labeller has one. Answers of "cannot tell" have slots from k on,
one for each labeller. All functions here are pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from app.errors import Conflict
from app.storage.rows import LabelRow

TIMEOUT = "timeout"  # the labeller of a default label


@dataclass(frozen=True, slots=True)
class Attention:
    """How an episode was judged: by which guidelines, and how many seconds the labeller took."""

    guidelines_version: int | None = None  # None: the one in force
    seconds: float | None = None


UNKNOWN = Attention()


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """A label, and who gave it."""

    label: int
    labeller: str | None = None
    comment: str | None = None
    at: int = 0  # milliseconds, once it is stored
    attention: Attention = UNKNOWN


@dataclass(frozen=True, slots=True)
class CannotTell:
    """A labeller's answer that the episode cannot be judged. It teaches nothing."""

    labeller: str | None
    reason: str
    at: int = 0  # milliseconds, once it is stored
    attention: Attention = UNKNOWN


Slots = Mapping[int, GivenLabel]
"""The labels in force, by slot."""


def labels_in_force(history: Iterable[LabelRow]) -> dict[int, GivenLabel]:
    """The labels in force, from an episode's label history, oldest first."""
    slots: dict[int, GivenLabel] = {}
    for row in history:
        if row.label is None:
            slots.pop(row.slot, None)
        else:
            slots[row.slot] = GivenLabel(
                row.label, row.labeller, row.comment, row.at, _attention(row)
            )
    return dict(sorted(slots.items()))


def cannot_tell_in_force(history: Iterable[LabelRow]) -> dict[int, CannotTell]:
    """The answers of "cannot tell" in force, from an episode's label history, oldest first."""
    answers: dict[int, CannotTell] = {}
    for row in history:
        if row.cannot_tell:
            reason = row.comment or ""
            answers[row.slot] = CannotTell(row.labeller, reason, row.at, _attention(row))
        else:
            answers.pop(row.slot, None)
    return dict(sorted(answers.items()))


def _attention(row: LabelRow) -> Attention:
    return Attention(row.guidelines_version, row.seconds)


def answer_slot(answers: Mapping[int, CannotTell], labeller: str | None) -> int | None:
    """The slot of a labeller's answer of "cannot tell"."""
    return next((slot for slot, answer in answers.items() if answer.labeller == labeller), None)


def free_answer_slot(answers: Mapping[int, CannotTell], wanted: int) -> int:
    """The slot of one more answer of "cannot tell"."""
    return next(slot for slot in count(wanted) if slot not in answers)


def majority(labels: Collection[GivenLabel]) -> int:
    """The majority of some labels: good only if more than half of them are good."""
    return int(2 * sum(given.label for given in labels) > len(labels))


def slot_of(slots: Slots, wanted: int, labeller: str | None) -> int | None:
    """The slot that holds a labeller's label; of any labeller if one label is wanted.

    A default label has no labeller: a person's label always replaces it.
    """
    for slot, given in slots.items():
        if given.labeller == labeller or (wanted == 1 and given.labeller != TIMEOUT):
            return slot
    return None


def has_room(slots: Slots, wanted: int) -> bool:
    """Whether the episode takes one more label."""
    return _default_slot(slots) is not None or len(slots) < wanted


def free_slot(slots: Slots, wanted: int) -> int:
    """The slot of one more label; it replaces a default label."""
    slot = _default_slot(slots)
    if slot is not None:
        return slot
    for slot in range(wanted):
        if slot not in slots:
            return slot
    raise Conflict("already_labelled", f"The episode has all the {wanted} labels it wants.")


def with_label(slots: Slots, slot: int, given: GivenLabel) -> dict[int, GivenLabel]:
    """The slots with a label set, replacing an earlier one."""
    return dict(sorted({**slots, slot: given}.items()))


def without_label(slots: Slots, slot: int) -> dict[int, GivenLabel]:
    """The slots with one emptied."""
    return {number: given for number, given in slots.items() if number != slot}


def _default_slot(slots: Slots) -> int | None:
    for slot, given in slots.items():
        if given.labeller == TIMEOUT:
            return slot
    return None
