"""The planning problem on a net of centres, and the values that solve it.

An episode passes the states 0..H. Those from ``first`` on add their ``gains`` to a logit, which
starts at ``offset``; an episode that ends stays in its last state, whose gain counts for all states
left, and adds ``flag``. A plan is worth the mean of the logistic function of that logit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidValue
from app.learning.arrays import Floats, Integers

TREMBLE = 0.1  # the share of actions that go wrong in the plan's own eyes: it keeps a margin


@dataclass(frozen=True)
class NetModel:
    """Where actions lead on a net of K centres.

    Action a in centre i leads on to centre ``columns[i, a, j]`` with probability
    (1 - ``ends[i, a]``) ``weights[i, a, j]``.
    """

    columns: Integers  # (K, A, m)
    weights: Floats  # (K, A, m); each row sums to one
    ends: Floats  # (K, A): the probability that the episode ends with this action

    def __post_init__(self) -> None:
        K, A, _ = self.columns.shape
        if self.weights.shape != self.columns.shape or self.ends.shape != (K, A):
            raise InvalidValue("model", "columns and weights of one shape, ends for each action")
        if len(self.columns) and not 0 <= self.columns.min() <= self.columns.max() < K:
            raise InvalidValue("columns", f"centres from 0 to {K - 1}")
        if (self.weights < 0).any() or (np.abs(self.weights.sum(axis=2) - 1.0) > 1e-9).any():
            raise InvalidValue("weights", "non-negative rows that sum to one")
        if (self.ends < 0).any() or (self.ends > 1).any():
            raise InvalidValue("ends", "probabilities")

    @property
    def centres(self) -> int:
        """K."""
        return len(self.columns)

    @property
    def actions(self) -> int:
        """A."""
        return len(self.ends[0])


@dataclass(frozen=True)
class NetProblem:
    """A model, and what to plan for."""

    model: NetModel
    horizon: int  # H
    first: int  # the first state that counts; H + 1 where only the end does
    gains: Floats  # (K,): what a state that counts adds to the logit
    offset: float  # the logit at the start
    flag: float  # what an end adds
    factors: Floats  # (K, A): what is left of a value after the hazard of the unknown
    bonuses: Floats  # (K, A): added to the value of an action
    tremble: float = TREMBLE

    def __post_init__(self) -> None:
        K, A = self.model.centres, self.model.actions
        for name, array, shape in (
            ("gains", self.gains, (K,)),
            ("factors", self.factors, (K, A)),
            ("bonuses", self.bonuses, (K, A)),
        ):
            if array.shape != shape or not np.isfinite(array).all():
                raise InvalidValue(name, f"finite numbers of shape {shape}")
        if not 1 <= self.first <= self.horizon + 1:
            raise InvalidValue("first", f"a state from 1 to {self.horizon + 1}")

    @property
    def accumulates(self) -> bool:
        """Whether more than one state counts, so that the logit so far must be remembered."""
        return self.first < self.horizon


@dataclass(frozen=True)
class NetValues:
    """The value of every centre before each step: ``early`` for one logit, ``late`` on a grid.

    ``early[t]`` are the values of the states t = 0..min(first, H), where the logit still is the
    offset. ``late[t - first - 1]`` are those of t = first + 1..H for each point of the grid
    low + k width.
    """

    early: NDArray[np.float32]  # (min(first, H) + 1, K)
    late: NDArray[np.float32]  # (H - min(first, H), K, G)
    low: float
    width: float
    planned: Floats  # (K,): the value of a start in each centre, bonuses and all
    success: Floats  # (K,): the chance of success of the greedy actions, without any of them
