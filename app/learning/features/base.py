"""The interfaces of feature maps: phi(tau) of a whole trajectory, a vector of d features.

A map turns a trajectory into a sparse row, and weights w over its features into the tables that the
planners take. No map ever builds a dense (H, S, A, d) tensor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from app.learning.arrays import Floats, Integers
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.occupancy import Occupancy
from app.learning.world.tracker import Tracker

Row = tuple[Integers, Floats]  # indices, strictly increasing, and their values
Norms = Callable[[sparse.csr_array], Floats]  # the norm of each row of a matrix


@dataclass(frozen=True)
class WeightTables:
    """Weights as an episode collects them: step by step over plain states, and by a memory.

    An episode starts with memory 0 of the automaton and has the weight ``remembered`` of its last
    memory. Maps without a memory have one that never changes.
    """

    steps: Floats  # (H, S, A)
    ends: Floats  # (H + 1, S + 1): for the steps that an early end leaves out
    automaton: Tracker
    remembered: Floats  # (M,)


class FeatureTables(ABC):
    """Features as tables over steps, states and actions, for planners.

    With a ``tracker`` the states are the P tracked states of an automaton, otherwise the S plain
    ones; P stands for both below. After an early end the steps that are left count in features
    over state and step, and add nothing to features that include the action.
    """

    tracker: Tracker | None

    @abstractmethod
    def spread(self, weights: Floats) -> Floats:
        """w . phi_h(s, a) for every cell, shape (H, P, A)."""

    @abstractmethod
    def remainders(self, weights: Floats) -> Floats:
        """w . (sum of phi over the steps h..H-1) once ended in e, shape (H + 1, P + 1).

        Row H is zero. Column P is an end whose state was not reported.
        """

    @abstractmethod
    def widths(self, norms: Norms) -> tuple[Floats, Floats]:
        """The norm of phi_h(s, a) for every cell, and its sum over what is left once ended in e.

        The shapes are (H, P, A) and (H + 1, P + 1).
        """

    @abstractmethod
    def collected(self, weights: Floats) -> WeightTables:
        """Where an episode collects these weights."""


class FeatureMap(ABC):
    """Features phi(tau) of whole trajectories."""

    spaces: Spaces

    @property
    @abstractmethod
    def dimension(self) -> int:
        """d, the number of features."""

    @abstractmethod
    def row(self, trajectory: Trajectory) -> Row:
        """phi(tau), unscaled, as a sparse row."""

    @abstractmethod
    def rows(self, states: Integers, actions: Integers, ended: Integers) -> sparse.csr_array:
        """phi(tau) of n episodes at once, shape (n, d), for planners that enumerate episodes.

        ``states`` and ``actions`` have shape (n, k). ``ended`` (n,) is the state that an episode
        ended in after its k actions, S when that was not reported, or -1 when the episode went on
        to the horizon.
        """

    @abstractmethod
    def largest_norm(self) -> float:
        """A proved bound on the norm of phi(tau) over every trajectory."""

    @property
    @abstractmethod
    def tables(self) -> FeatureTables:
        """The tables to plan with."""

    @property
    def parts(self) -> Sequence[FeatureMap]:
        """The maps that this one consists of, in order; a simple map is its own only part."""
        return (self,)

    @property
    def by_steps(self) -> StepFeatures | None:
        """The map as a sum over steps; None for one that is no such sum."""
        return None

    @property
    def first_step(self) -> int:
        """The first step that any feature looks at."""
        return 0

    @property
    def is_coarse(self) -> bool:
        """Whether every feature counts visits over several steps."""
        return False

    @property
    def has_orthogonal_steps(self) -> bool:
        """Whether phi is a sum over steps, and phi_h(s, a) . phi_h'(s', a') = 0 for h != h'."""
        return False

    def least_touched(self, touches: Floats) -> Floats:  # noqa: ARG002 - maps without counts
        """The smallest of ``touches`` (d,) among the features of each cell, shape (H, S, A).

        It is infinite for a cell without features that count visits.
        """
        return np.full(self.spaces.shape, np.inf)


class StepFeatures(FeatureMap, FeatureTables):
    """A sum-decomposable map: phi(tau) = sum_h phi_h(s_h, a_h). It is its own tables."""

    tracker: None = None

    @property
    def tables(self) -> FeatureTables:
        """The map itself."""
        return self

    @property
    def by_steps(self) -> StepFeatures:
        """The map itself."""
        return self

    def collected(self, weights: Floats) -> WeightTables:
        """At every step; nothing is remembered."""
        _, S, A = self.spaces.shape
        nothing = Tracker(np.zeros((1, S, A), np.int64), np.zeros((1, S), np.int64))
        return WeightTables(self.spread(weights), self.remainders(weights), nothing, np.zeros(1))

    def without_steps(self) -> StepFeatures | None:
        """The same features with the steps merged; None for a map that has no such form."""
        return None

    @abstractmethod
    def mean(self, visits: Occupancy) -> Floats:
        """E[phi(tau)], unscaled, of a policy with this occupancy, shape (d,)."""

    @property
    def has_constant_steps(self) -> bool:
        """Whether every episode has the same sum of features at each of several steps.

        Then no policy reaches the difference of two of these sums.
        """
        return False


def stack_rows(rows: Sequence[Row], dimension: int) -> sparse.csr_array:
    """Rows one below the other, shape (n, d)."""
    indptr = np.concatenate([[0], np.cumsum([len(indices) for indices, _ in rows])])
    none: list[Integers] = [np.empty(0, dtype=np.int64)]
    indices = np.concatenate(none + [indices for indices, _ in rows])
    values = np.concatenate([np.empty(0)] + [values for _, values in rows])
    return sparse.csr_array((values, indices, indptr), shape=(len(rows), dimension))
