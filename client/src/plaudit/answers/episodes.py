"""Episodes, their steps, labels and recordings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from plaudit.answers.steps import Problem, StepAnswer
from plaudit.answers.values import Action, Actor, Label, Learning, Metadata, Mode, State, Status


@dataclass(frozen=True, kw_only=True)
class EpisodeSummary:
    """An episode without its steps.

    ``information`` is how many nats its label would teach, in lists in the order `informative`.
    """

    id: str
    agent: str
    number: int
    external_id: str | None
    mode: Mode
    learn_transitions: bool
    status: Status
    label_required: bool
    labels_wanted: int
    labels_given: int
    cannot_tell: int
    label: Label | None
    policy_version: int
    horizon: int
    length: int
    metadata: Metadata
    created_at: datetime
    finished_at: datetime | None
    labelled_at: datetime | None
    information: float | None = None


@dataclass(frozen=True, kw_only=True)
class StartedEpisode(EpisodeSummary):
    """An episode that has started, with its first step where the start carried a state."""

    first_step: StepAnswer | None = None


@dataclass(frozen=True)
class StepView:
    """One step of an episode; ``share`` is what it adds to the log-odds of a good label.

    ``action`` is what was done, ``answered`` what the policy chose, ``actor`` who acted, and
    ``allowed`` what the client allowed.
    """

    step: int
    state: State
    action: Action
    answered: Action
    actor: Actor
    allowed: list[Action] | None
    share: float | None


@dataclass(frozen=True)
class LabelChange:
    """A label that an episode was given; without one a withdrawal, unless ``cannot_tell``."""

    label: Label | None
    labeller: str | None
    comment: str | None
    at: datetime
    cannot_tell: bool
    guidelines_version: int | None
    seconds: float | None


@dataclass(frozen=True)
class LabelView:
    """The label of one labeller that holds now."""

    label: Label
    labeller: str | None
    at: datetime


@dataclass(frozen=True)
class CannotTellView:
    """A labeller who answered that the episode cannot be judged."""

    labeller: str | None
    reason: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class EpisodeView(EpisodeSummary):
    """An episode with its steps, its labels, and what the model predicts of it."""

    steps: list[StepView]
    final: State | None
    terminated: bool
    verdicts: list[LabelView]
    undecided: list[CannotTellView]
    labels: list[LabelChange]
    predicted: float | None
    after_end: float | None


@dataclass(frozen=True)
class LabelAnswer:
    """The label of an episode as it is stored now.

    ``verdicts`` is ``labels_given`` by its name in the first edition.
    """

    episode: str
    label: Label | None
    labels_given: int
    verdicts: int
    labels_wanted: int
    cannot_tell: int
    status: Status
    learning: Learning
    policy_version: int


@dataclass(frozen=True)
class RecordingView:
    """A recording that is stored."""

    episode: str
    media_type: str
    size: int
    at: datetime


@dataclass(frozen=True)
class StartResult:
    """The episode that one entry of many started, or its problem."""

    agent: str
    result: StartedEpisode | None = None
    problem: Problem | None = None


@dataclass(frozen=True)
class FinishResult:
    """The episode that one entry of many finished, or its problem."""

    episode: str
    result: EpisodeSummary | None = None
    problem: Problem | None = None


@dataclass(frozen=True)
class LabelResult:
    """The label that one entry of many stored, or its problem."""

    episode: str
    result: LabelAnswer | None = None
    problem: Problem | None = None
