"""Logged episodes: what an export gives and what an import answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from plaudit.answers.values import Action, Actor, Label, Learning, Metadata, Mode, State, Status


@dataclass(frozen=True)
class LoggedLabel:
    """The label that one labeller gave."""

    label: Label
    labeller: str | None = None
    comment: str | None = None


@dataclass(frozen=True)
class LoggedCannotTell:
    """A labeller who could not tell."""

    reason: str
    labeller: str | None = None


@dataclass(frozen=True)
class LoggedStepDetail:
    """A step in which somebody else than the policy acted, or not every action was allowed.

    ``answered`` is what the policy chose.
    """

    step: int
    actor: Actor = "policy"
    answered: Action | None = None
    allowed: list[Action] | None = None


@dataclass(frozen=True)
class ExportedEpisode:
    """One line of an export. `import_trajectories` takes it back as it is."""

    episode: str
    number: int
    status: Status
    mode: Mode
    policy_version: int
    states: list[State]
    actions: list[Action]
    terminated: bool
    label: Label | None
    labels_wanted: int
    verdicts: list[LoggedLabel]
    undecided: list[LoggedCannotTell] = field(default_factory=list)
    learn_transitions: bool = True
    external_id: str | None = None
    metadata: Metadata = field(default_factory=dict)
    step_details: list[LoggedStepDetail] = field(default_factory=list)


@dataclass(frozen=True)
class ExportedLabel:
    """A label in force, or "cannot_tell", whose reason is then the comment."""

    episode: str
    mode: Mode
    label: Label | Literal["cannot_tell"]
    at: datetime
    external_id: str | None = None
    labeller: str | None = None
    comment: str | None = None
    seconds: float | None = None
    guidelines_version: int | None = None


@dataclass(frozen=True)
class TrajectoriesAnswer:
    """The ids that imported episodes were given."""

    agent: str
    imported: int
    first: str
    last: str
    learning: Learning
