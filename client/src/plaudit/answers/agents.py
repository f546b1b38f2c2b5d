"""Agents: their specification and where they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from plaudit.answers.values import Action, Label, Learning, Metadata, State, Wait


@dataclass(frozen=True)
class Space:
    """What states or actions are: `discrete` has n, `labels` has values, `box` has bounds."""

    kind: str
    n: int | None = None
    values: list[str] | None = None
    low: list[float | None] | None = None
    high: list[float | None] | None = None
    bins: list[int] | None = None


@dataclass(frozen=True)
class EpisodeCounts:
    """How many episodes an agent has, by status."""

    running: int
    awaiting_label: int
    labelled: int
    completed: int
    abandoned: int

    @property
    def total(self) -> int:
        """Episodes of any status."""
        return sum(
            (self.running, self.awaiting_label, self.labelled, self.completed, self.abandoned)
        )


@dataclass(frozen=True)
class PlanView:
    """The plan in force: what it promises, and how close to the best of the model it is."""

    planner: str
    value: float
    optimistic_value: float
    gap: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class SuccessView:
    """How often evaluations were good, with 95 % bounds that are valid at all times."""

    episodes: int
    good: int
    success: float
    low: float
    high: float
    at_least: float


@dataclass(frozen=True, kw_only=True)
class VersionSuccessView(SuccessView):
    """The evaluations of one policy version."""

    policy_version: int


@dataclass(frozen=True, kw_only=True)
class EvaluationView(SuccessView):
    """The evaluations of an agent: all of them, the recent ones, and by policy version."""

    recent: SuccessView
    versions: list[VersionSuccessView]


@dataclass(frozen=True)
class Examples:
    """Ids of episodes that show labellers what is good and what is bad."""

    good: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class GuidelinesView:
    """One version of an agent's question and guidelines; labels keep its number."""

    version: int
    question: str | None
    guidelines: str | None
    at: datetime


@dataclass(frozen=True)
class WarningView:
    """Something that is allowed but likely not meant: a code, and what to do."""

    code: str
    detail: str


@dataclass(frozen=True)
class TimingView:
    """How long learning, playing and waiting took lately, in seconds."""

    learning_seconds: float | None
    episode_seconds: float | None
    wait_seconds: float | None


@dataclass(frozen=True)
class AllowedActions:
    """The actions that are possible in one state."""

    state: State
    actions: list[Action]


@dataclass(frozen=True)
class StateAction:
    """The fallback action of one state."""

    state: State
    action: Action


@dataclass(frozen=True)
class AgentView:
    """An agent: its specification and where it stands."""

    id: str
    name: str
    states: Space
    actions: Space
    horizon: int
    paused: bool
    created_at: datetime
    episodes: EpisodeCounts
    policy_version: int
    pinned_version: int | None
    learning: Learning
    learning_error: str | None
    success_rate: float | None
    evaluation: EvaluationView | None
    plan: PlanView | None
    timing: TimingView | None
    metadata: Metadata
    progress: dict[str, Any]
    warnings: list[WarningView]
    question: str | None
    guidelines: str | None
    guidelines_version: int
    examples: Examples
    display: dict[str, Any] | None = None
    features: dict[str, Any] | None = None
    algorithm: dict[str, Any] | None = None
    seed: int = 0
    initial_states: list[int | str] | list[float] | dict[str, Any] | None = None
    labels_wanted: int = 1
    label_timeout: str | None = None
    default_label: Label | None = None
    running_timeout: str | None = None
    allowed: list[AllowedActions] = field(default_factory=list)
    fallback_action: int | str | list[StateAction] | None = None
    deadline_ms: int | None = None
    max_exploration: float = 1.0
    wait: Wait = True
    shortened: list[str] = field(default_factory=list)
