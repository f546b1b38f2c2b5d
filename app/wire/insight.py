"""What an agent has learned: its model, policy and curve."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from app.wire.base import Action, Answer, State


class Follower(Answer):
    """What may follow a state and an action."""

    state: State | None = Field(description="null where an episode ended and nobody said where")
    ended: bool = Field(description="whether the episode ends there")
    probability: float = Field(description="by the estimate")


class TransitionView(Answer):
    """The estimate for one state and action that was tried."""

    state: State = Field(description="where")
    action: Action = Field(description="what was tried there")
    followers: list[Follower] = Field(description="what came of it")


class ModelView(Answer):
    """What an agent believes; null where its kind has no such thing."""

    agent: str = Field(description="the id of the agent")
    policy_version: int = Field(description="the version that these belong to")
    features: str | None = Field(description="what the weights belong to")
    weights: list[float] | None = Field(
        description="one for each feature, in log-odds of a good label"
    )
    intercept: float | None = Field(description="log-odds of a good label with all features zero")
    visits: list[list[int]] | None = Field(description="per state and action")
    bonuses: list[list[float]] | None = Field(description="per state and action, at most")
    start: list[float] | None = Field(description="probability of each first state")
    transitions: list[TransitionView] | None = Field(description="of what was tried")


class PolicyView(Answer):
    """A policy that a client can run by itself."""

    agent: str = Field(description="the id of the agent")
    policy_version: int = Field(description="its version")
    episode_number: int = Field(description="the episode number that its random numbers are for")
    label_required: bool = Field(description="whether an episode played with it waits for a label")
    horizon: int = Field(description="steps of an episode")
    seed: str = Field(description="a whole number of up to 63 bits")
    generator: Literal["splitmix64"] = Field(description="how random numbers are made")
    states: dict[str, Any] = Field(description="how states are sent")
    actions: dict[str, Any] = Field(description="what the numbers of actions stand for")
    policy: dict[str, Any] = Field(description="`kind` and its arrays")


class ObservedPoint(Answer):
    """A group of labelled episodes."""

    episode: int = Field(description="the number of its last episode")
    labels: int = Field(description="labels up to its end")
    success: float = Field(description="share of good labels in the group")
    low: float = Field(description="of its 95 % interval")
    high: float = Field(description="of its 95 % interval")


class PolicyPoint(Answer):
    """One policy that was in force."""

    version: int = Field(description="its number")
    episodes: int = Field(description="episodes that it knew")
    labels: int = Field(description="labels that it knew")
    planner: str = Field(description="what made it")
    value: float = Field(description="the optimistic value at the start")
    gap: float = Field(description="certified distance to the best policy of the learned model")
    predicted: float | None = Field(description="success of the policy without bonuses")
    seconds: float = Field(description="how long planning took")
    at: datetime = Field(description="when it came into force")


class CurveView(Answer):
    """How an agent has been doing."""

    agent: str = Field(description="the id of the agent")
    observed: list[ObservedPoint] = Field(description="in the order of episodes")
    policies: list[PolicyPoint] = Field(description="in the order they came into force")
