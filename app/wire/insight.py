"""What an agent has learned: its model, policy and curve."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from app.wire.base import Action, Answer, JsonObject, State


class Follower(Answer):
    """A possible successor of a state and an action."""

    state: State | None = Field(description="null where an episode ended in an unreported state")
    ended: bool = Field(description="whether the episode ends there")
    probability: float = Field(description="by the estimate")


class TransitionView(Answer):
    """The estimate for one state and action that was tried."""

    state: State = Field(description="where")
    action: Action = Field(description="what was tried there")
    followers: list[Follower] = Field(description="what followed, with probabilities")


class OptimismView(Answer):
    """How optimistic an agent is, in features scaled to norm 1; null: no part of its constants."""

    episode: float = Field(description="t, the episode that is next, counted from 1")
    episodes: float = Field(description="N, the number of episodes that the constants are for")
    scale: float = Field(description="what features are divided by, so that no norm is above 1")
    delta: float | None = Field(description="the failure probability of one bound")
    kappa: float | None = Field(description="the largest 1 / mu', exp(B) + 2 + exp(-B)")
    beta: float | None = Field(description="beta_t(delta) of the paper")
    radius: float = Field(description="the factor of every norm: sqrt(kappa) beta_t, or tuned")
    width: float = Field(description="the most that the radius adds to any episode's prediction")
    value: float | None = Field(description="of the last optimistic plan, at the start")
    condition_number: float | None = Field(description="of the design matrix Sigma_t")
    condition_bound: float | None = Field(description="what is proved of it; Psi_t from t_0 on")
    sandwich: float | None = Field(
        description="the steps' widths add up to at most this many times the whole episode's"
    )
    regret_bound: float | None = Field(description="of the paper's theorem, after N episodes")
    informative_from: float | None = Field(
        description="the N from which the regret bound is below N"
    )


class ModelView(Answer):
    """The learned model of an agent. A field is null if the agent kind does not have it."""

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
    optimism: OptimismView | None = Field(description="of the kinds that are optimistic")


class PossibleActions(Answer):
    """The possible actions of one state, by their indices."""

    state: int = Field(description="the index of the state")
    actions: list[int] = Field(description="the indices of its actions, in ascending order")


class PolicyView(Answer):
    """A policy that a client can run by itself."""

    agent: str = Field(description="the id of the agent")
    policy_version: int = Field(description="its version")
    episode_number: int = Field(description="the episode number that its random numbers are for")
    label_required: bool = Field(description="whether an episode played with it waits for a label")
    horizon: int = Field(description="steps of an episode")
    seed: str = Field(description="a whole number of up to 63 bits")
    generator: Literal["splitmix64"] = Field(description="how random numbers are made")
    states: JsonObject = Field(description="how states are sent")
    actions: JsonObject = Field(description="the action of each number")
    allowed: list[PossibleActions] = Field(
        description="states in which not every action is possible; the policy keeps to them"
    )
    policy: JsonObject = Field(description="`kind` and its arrays")


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
    planner: str = Field(description="the planner")
    optimistic_value: float = Field(
        description="the score that planning maximised: the value at the start with its bonuses"
    )
    value: float = Field(description="the same number, by its name in the first edition")
    gap: float = Field(description="certified distance to the best policy of the learned model")
    predicted: float | None = Field(
        description="probability of success of the policy without bonuses"
    )
    seconds: float = Field(description="how long planning took")
    at: datetime = Field(description="when it came into force")


class CurveView(Answer):
    """The learning curve of an agent."""

    agent: str = Field(description="the id of the agent")
    observed: list[ObservedPoint] = Field(description="in the order of episodes")
    policies: list[PolicyPoint] = Field(description="in the order they came into force")
