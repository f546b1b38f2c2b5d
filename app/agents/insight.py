"""What an agent can say about its episodes and its model: the interface that pages and views use.

An agent kind returns an `Insight` of its own. `TabularInsight` serves the kinds that count states;
`reinforce` has one for observed numbers. What a kind cannot say is None or empty.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit

from app.agents.kinds import DEFAULT_KIND, agent_class
from app.agents.optimism import Optimism
from app.errors import SnapshotError
from app.learning.arrays import Arrays, Floats, Integers, pack_arrays, unpack_arrays
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy

INSIGHT_FORMAT = 1
_KIND = "kind"  # the entry that names the agent kind; the oldest bytes have none


@dataclass(frozen=True)
class Shares:
    """What each step of an episode added to the log-odds of a good label."""

    offset: float  # the log-odds before the first step
    steps: Floats  # (n,)
    end: float  # for the steps that an early end left out

    @property
    def probability(self) -> float:
        """The probability of a good label."""
        return float(expit(self.offset + self.steps.sum() + self.end))


@dataclass(frozen=True)
class StepExplanation:
    """Why an action was taken."""

    visits: int  # how often it was tried there
    success_probability: float
    bonus_share: float  # of the exploration bonus in the value of the action


@dataclass(frozen=True)
class Axis:
    """One observed number, cut into cells between its bounds."""

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
    """What may follow a state and an action."""

    state: int | None  # None for an end whose state was not reported
    ended: bool
    probability: float


@dataclass(frozen=True)
class Transition:
    """The estimate for one state and action that was tried."""

    state: int
    action: int
    followers: list[Follower]


@dataclass(frozen=True)
class ModelDocument:
    """The learned model as plain lists, with indices of states and actions; None: no such part."""

    features: str  # what the weights belong to
    weights: list[float]  # in log-odds of a good label
    intercept: float
    visits: list[list[int]] | None = None  # per state and action
    bonuses: list[list[float]] | None = None  # per state and action
    start: list[float] | None = None  # per state
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
        """What each step of the episode added to its prediction; None when it is unknown."""

    @abstractmethod
    def explain(
        self,
        policy: Policy | None,
        played: Trajectory,
        memory: tuple[int, ...],
        rng: np.random.Generator,
    ) -> StepExplanation | None:
        """Why ``policy`` took the last action of ``played``; ``memory`` is the policy's after it.

        Without a policy the episode is over.
        """

    @abstractmethod
    def success_map(self, dimensions: tuple[int, int] | None = None) -> SuccessMap | None:
        """Where episodes succeed. ``dimensions`` chooses two of the observed numbers."""

    @abstractmethod
    def document(self) -> ModelDocument | None:
        """The learned model as plain lists."""

    def uniform_success(self, rng: np.random.Generator) -> float | None:  # noqa: ARG002
        """The probability of a good label when all actions are equally likely, in the model."""
        return None

    def least_known(self, count: int) -> list[Pair]:  # noqa: ARG002
        """The actions that were tried least, in states that were visited."""
        return []

    def tried(self, state: int, action: int) -> int:  # noqa: ARG002
        """How often an action was taken in a state."""
        return 0

    def followers(self, state: int, action: int, most: int) -> list[Follower]:  # noqa: ARG002
        """What followed a state and an action, the most probable first."""
        return []

    @abstractmethod
    def arrays(self) -> Arrays:
        """Everything as plain arrays."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The insight that gave ``arrays``."""


def pack_insight(kind: str, insight: Insight) -> bytes:
    """Pack the insight of an agent of this kind."""
    return pack_arrays({_KIND: np.array(kind), **insight.arrays()}, INSIGHT_FORMAT)


def unpack_insight(packed: bytes) -> Insight:
    """Unpack what `pack_insight` packed."""
    arrays = unpack_arrays(packed, "insight", INSIGHT_FORMAT)
    kind = str(arrays.pop(_KIND, DEFAULT_KIND))
    try:
        return agent_class(kind).insight_type.from_arrays(arrays)
    except (KeyError, ValueError, TypeError, ImportError) as error:
        raise SnapshotError(f"cannot read the insight of {kind!r}: {error!r}") from error
