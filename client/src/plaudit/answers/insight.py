"""What an agent has learned: model, policy, learning curve, events."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from plaudit.answers.agents import Space, SuccessView
from plaudit.answers.values import Action, Label, State


@dataclass(frozen=True)
class Follower:
    """A state that may follow a state and an action."""

    state: State | None
    ended: bool
    probability: float


@dataclass(frozen=True)
class TransitionView:
    """What may follow one state and action that was tried."""

    state: State
    action: Action
    followers: list[Follower]


@dataclass(frozen=True)
class OptimismView:
    """How optimistic an agent is, in the paper's letters; None: no part of its constants."""

    episode: float
    episodes: float
    scale: float
    delta: float | None
    kappa: float | None
    beta: float | None
    radius: float
    width: float
    value: float | None
    condition_number: float | None
    condition_bound: float | None
    sandwich: float | None
    regret_bound: float | None
    informative_from: float | None


@dataclass(frozen=True)
class ModelView:
    """The learned model of an agent. A field is None if the agent kind does not have it."""

    agent: str
    policy_version: int
    features: str | None
    weights: list[float] | None
    intercept: float | None
    visits: list[list[int]] | None
    bonuses: list[list[float]] | None
    start: list[float] | None
    transitions: list[TransitionView] | None
    optimism: OptimismView | None = None


@dataclass(frozen=True)
class PossibleActions:
    """The possible actions of one state, by their indices."""

    state: int
    actions: list[int]


@dataclass(frozen=True)
class PolicyView:
    """A policy that a client can run by itself; ``etag`` names it."""

    agent: str
    policy_version: int
    episode_number: int
    label_required: bool
    horizon: int
    seed: str
    generator: str
    states: Space
    actions: Space
    policy: dict[str, Any] = field(repr=False)
    allowed: list[PossibleActions] = field(default_factory=list)
    etag: str = ""


@dataclass(frozen=True)
class ObservedPoint:
    """A group of labelled episodes: its success, and the 95 % interval."""

    episode: int
    labels: int
    success: float
    low: float
    high: float


@dataclass(frozen=True)
class PolicyPoint:
    """One policy that was in force."""

    version: int
    episodes: int
    labels: int
    planner: str
    optimistic_value: float
    value: float
    gap: float
    predicted: float | None
    seconds: float
    at: datetime


@dataclass(frozen=True)
class PolicyVersionView:
    """One policy version: what it knew and promised, and its success in evaluation."""

    version: int
    episodes: int
    labels: int
    predicted: float | None
    evaluation: SuccessView | None
    planner: str
    optimistic_value: float
    gap: float
    seconds: float
    at: datetime
    in_force: bool
    pinned: bool


@dataclass(frozen=True)
class CurveView:
    """The learning curve: observed success, and what every policy promised."""

    agent: str
    observed: list[ObservedPoint]
    policies: list[PolicyPoint]


@dataclass(frozen=True)
class Event:
    """Something that happened to an agent: `kind` is for example `label.given`."""

    kind: str
    agent: str
    number: int
    at: datetime
    episode: str | None = None
    label: Label | None = None
    policy_version: int | None = None
