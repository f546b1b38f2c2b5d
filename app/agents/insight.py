"""Insight: what an agent's model says about episodes, steps and states, for pages and views.

Each agent kind returns its own `Insight`. `TabularInsight` serves the kinds with numbered states,
`ObservationInsight` and `SmoothInsight` those with observed numbers. Methods return None or an
empty list where a kind has no answer.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass, fields
from typing import Any, Self

import numpy as np
from scipy.special import expit

from app.agents.kinds import DEFAULT_KIND, agent_class
from app.errors import SnapshotError
from app.learning.arrays import Arrays, Floats, Integers, pack_arrays, unpack_arrays, unpacked_size
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy

INSIGHT_FORMAT = 1
_KIND = "kind"  # the entry that names the agent kind; the oldest bytes have none


@dataclass(frozen=True)
class Optimism:
    """The paper's optimism at episode t. A field is None where the constants do not define it.

    The units are those of features scaled so that no trajectory has a norm above 1; ``scale`` is
    what the features are divided by.
    """

    episode: float  # t
    episodes: float  # N
    scale: float
    delta: float | None  # the failure probability of one bound
    kappa: float | None
    beta: float | None  # beta_t(delta)
    radius: float  # sqrt(kappa) beta_t, or the tuned radius: factor of every norm
    width: float  # the most that is added to the prediction of any episode for its weights
    value: float | None  # of the last optimistic plan, at the start
    condition_number: float | None  # of Sigma_t
    condition_bound: float | None  # its upper bound by the lemma
    sandwich: float | None  # bounds the sum of the steps' widths by the whole episode's
    regret_bound: float | None  # of the theorem, after N episodes
    informative_from: float | None  # the N from which the regret bound is below N

    def packed(self) -> Floats:
        """All fields as one vector; NaN stands for None."""
        return np.array([math.nan if number is None else number for number in astuple(self)])

    @classmethod
    def unpacked(cls, numbers: Floats) -> Self | None:
        """Unpack the vector that `packed` returned; None for an empty vector."""
        names = [field.name for field in fields(cls)]
        if len(numbers) != len(names):
            return None
        values: list[Any] = [None if math.isnan(number) else number for number in numbers.tolist()]
        return cls(**dict(zip(names, values, strict=True)))


@dataclass(frozen=True)
class Shares:
    """The contribution of each step of an episode to the log-odds of a good label."""

    offset: float  # the log-odds before the first step
    steps: Floats  # (n,)
    end: float  # for the steps that an early end left out

    @property
    def probability(self) -> float:
        """The probability of a good label."""
        return float(expit(self.offset + self.steps.sum() + self.end))


@dataclass(frozen=True)
class StepExplanation:
    """Why a policy took an action."""

    visits: int  # how often it was tried there
    success_probability: float
    bonus_share: float  # of the exploration bonus in the value of the action


@dataclass(frozen=True)
class Axis:
    """One observed number, divided into cells between its bounds."""

    dimension: int
    low: float
    high: float
    cells: int


@dataclass(frozen=True)
class SuccessMap:
    """Where episodes succeed: one entry for each state, or for each cell of a grid.

    Without ``axes`` entry s is state s. With axes the entries are the cells of a grid over those
    observed numbers, the last axis fastest. NaN and -1 stand for unknown.
    """

    success: Floats  # (cells,): the probability of a good label from there
    effects: Floats  # (cells,): what passing there adds to the log-odds of a good label
    visits: Integers  # (cells,)
    bonuses: Floats  # (cells,): what exploring there is worth
    best_actions: Integers  # (cells,)
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True)
class Pair:
    """A state and an action."""

    state: int
    action: int
    visits: int
    bonus: float


@dataclass(frozen=True)
class Follower:
    """A possible successor of a state and an action."""

    state: int | None  # None for an end whose state was not reported
    ended: bool
    probability: float


@dataclass(frozen=True)
class Transition:
    """The estimated successors of one state and action."""

    state: int
    action: int
    followers: list[Follower]


@dataclass(frozen=True)
class ModelDocument:
    """The learned model over indices; a part is None if the kind lacks it."""

    features: str  # what the weights belong to
    weights: Floats  # (d,): in log-odds of a good label
    intercept: float
    visits: Integers | None = None  # (S, A)
    bonuses: Floats | None = None  # (S, A)
    start: Floats | None = None  # (S,)
    transitions: list[Transition] | None = None
    optimism: Optimism | None = None


class Insight(ABC):
    """Predicts episodes, shares a prediction among steps, explains steps and draws a map."""

    description: str  # of the features that it looks at

    def predict(self, trajectory: Trajectory) -> float | None:
        """The probability that the episode is labelled good; None when it is unknown."""
        shares = self.share(trajectory)
        return None if shares is None else shares.probability

    @abstractmethod
    def share(self, trajectory: Trajectory) -> Shares | None:
        """The contribution of each step to the predicted log-odds; None when it is unknown."""

    @abstractmethod
    def explain(
        self,
        policy: Policy | None,
        played: Trajectory,
        memory: tuple[int, ...],
        rng: np.random.Generator,
    ) -> StepExplanation | None:
        """Explain why ``policy`` took the last action of ``played``; its memory is ``memory``.

        Without a policy the episode is over.
        """

    @abstractmethod
    def success_map(self, dimensions: tuple[int, int] | None = None) -> SuccessMap | None:
        """The probability of success by state, or over two observed numbers (``dimensions``)."""

    @abstractmethod
    def document(self) -> ModelDocument | None:
        """The learned model."""

    def uniform_success(self, rng: np.random.Generator) -> float | None:  # noqa: ARG002
        """The probability of a good label when all actions are equally likely, in the model."""
        return None

    def least_known(self, count: int) -> list[Pair]:  # noqa: ARG002
        """The actions tried least, among the states that were visited."""
        return []

    def tried(self, state: int, action: int) -> int:  # noqa: ARG002
        """How often an action was taken in a state."""
        return 0

    def followers(self, state: int, action: int, most: int) -> list[Follower]:  # noqa: ARG002
        """The successors of a state and an action, most probable first."""
        return []

    @abstractmethod
    def arrays(self) -> Arrays:
        """Everything as plain arrays."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Restore an insight from what ``arrays`` returned."""


def pack_insight(kind: str, insight: Insight) -> bytes:
    """Pack the insight of an agent of this kind."""
    return pack_arrays({_KIND: np.array(kind), **insight.arrays()}, INSIGHT_FORMAT)


def insight_size(packed: bytes) -> int:
    """The bytes that a packed insight takes in memory, without unpacking it."""
    return unpacked_size(packed, "insight")


def unpack_insight(packed: bytes) -> Insight:
    """Unpack what `pack_insight` packed."""
    arrays = unpack_arrays(packed, "insight", INSIGHT_FORMAT)
    kind = str(arrays.pop(_KIND, DEFAULT_KIND))
    try:
        return agent_class(kind).insight_type.from_arrays(arrays)
    except (KeyError, ValueError, TypeError, ImportError) as error:
        raise SnapshotError(f"cannot read the insight of {kind!r}: {error!r}") from error
