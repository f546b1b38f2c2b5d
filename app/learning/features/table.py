"""Features given as a table: one vector for each (state, action), or (step, state, action)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from app.errors import InvalidValue
from app.learning.arrays import Floats, Integers
from app.learning.features.base import Norms, Row, StepFeatures
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.occupancy import Occupancy

SMALLEST, LARGEST = 1e-9, 1e9  # the absolute value of a feature that is not 0
ROUNDING = 1e-13  # a sum below this share of its terms' absolute sum is zero
ORTHOGONAL = 1e-12  # the share of the squares that rounding may leave
MOST_PRODUCTS = 2e8  # multiplications that the bound by pairs of steps may take: about 0.2 s


@dataclass(frozen=True)
class Table(StepFeatures):
    """A client's own features, (S, A, d) or (H, S, A, d)."""

    spaces: Spaces
    values: Floats

    def __post_init__(self) -> None:
        H, S, A = self.spaces.shape
        if self.values.shape[:-1] not in {(S, A), (H, S, A)} or self.values.shape[-1] < 1:
            expected = f"shape ({S}, {A}, d) or ({H}, {S}, {A}, d)"
            raise InvalidValue("features.values", f"{expected}, got {self.values.shape}")
        check_sizes("features.values", self.values)

    def __str__(self) -> str:
        return f"a table of {self.dimension} features"

    @property
    def dimension(self) -> int:
        """d, the number of features."""
        return int(self.values.shape[-1])

    def row(self, trajectory: Trajectory) -> Row:
        """The sum of the features of the steps that were played."""
        s, a = trajectory.states, trajectory.actions
        played = self.values[s, a] if self.values.ndim == 3 else self.values[range(len(s)), s, a]
        total = played.sum(axis=0)
        # A sum far below its terms is rounding error, not a feature.
        indices = np.flatnonzero(np.abs(total) > ROUNDING * np.abs(played).sum(axis=0))
        return indices, total[indices]

    def spread(self, weights: Floats) -> Floats:
        """w . phi_h(s, a) for every cell."""
        return np.array(np.broadcast_to(self.values @ weights, self.spaces.shape))

    def remainders(self, weights: Floats) -> Floats:  # noqa: ARG002 - every map takes them
        """Nothing: the features include the action."""
        return np.zeros((self.spaces.horizon + 1, self.spaces.states + 1))

    def widths(self, norms: Norms) -> tuple[Floats, Floats]:
        """The norms of the table's rows; nothing after the end."""
        rows = sparse.csr_array(self.values.reshape(-1, self.dimension))
        table = norms(rows).reshape(self.values.shape[:-1])
        ended = np.zeros((self.spaces.horizon + 1, self.spaces.states + 1))
        return np.array(np.broadcast_to(table, self.spaces.shape)), ended

    def largest_norm(self) -> float:
        """The smallest of the proved bounds; exact where steps are orthogonal or all the same.

        Any state may follow any other, since nothing is known of the transitions.
        """
        H, d = self.spaces.horizon, self.dimension
        if self.values.ndim == 3:  # the longest vector at every step
            return H * float(np.linalg.norm(self.values, axis=-1).max())
        steps = self.values.reshape(H, -1, d)
        squares = (steps**2).sum(axis=-1).max(axis=-1)  # (H,): of each step's longest vector
        if self.has_orthogonal_steps:
            return float(np.sqrt(squares.sum()))
        bounds = [float(np.sqrt(squares).sum()), _coordinate_bound(steps)]
        distinct = [np.unique(step, axis=0) for step in steps]
        if _pair_work(distinct) <= MOST_PRODUCTS:
            bounds.append(_pair_bound(distinct))
        return min(bounds)

    @property
    def has_orthogonal_steps(self) -> bool:
        """Whether the products of the features of different steps are zero up to rounding."""
        if self.spaces.horizon == 1:
            return True
        if self.values.ndim == 3:
            return not self.values.any()
        # The squares of all products of different steps add up to |sum_h G_h|^2 - sum_h |G_h|^2
        # with G_h = Phi_h^T Phi_h, which needs no loop over pairs of steps.
        total, same = np.zeros((self.dimension,) * 2), 0.0
        for values in self.values.reshape(self.spaces.horizon, -1, self.dimension):
            gram = values.T @ values
            total += gram
            same += float((gram**2).sum())
        whole = float((total**2).sum())
        return whole - same <= ORTHOGONAL * whole

    def mean(self, visits: Occupancy) -> Floats:
        """The table's rows weighted by how often each cell occurs."""
        cells = visits.cells if self.values.ndim == 4 else visits.cells.sum(axis=0)
        return np.asarray(np.tensordot(cells, self.values, axes=cells.ndim))

    def rows(
        self,
        states: Integers,
        actions: Integers,
        ended: Integers,  # noqa: ARG002 - nothing counts after the end: features include the action
    ) -> sparse.csr_array:
        """The sum over each episode's steps."""
        total, size = np.zeros((2, len(states), self.dimension))
        for h in range(states.shape[1]):
            values = self.values if self.values.ndim == 3 else self.values[h]
            step = values[states[:, h], actions[:, h]]
            total += step
            size += np.abs(step)
        total[np.abs(total) <= ROUNDING * size] = 0.0
        return sparse.csr_array(total)


def check_sizes(field: str, values: Floats) -> None:
    """Refuse features that are not finite, or whose squares would lose their precision."""
    if not np.isfinite(values).all():
        raise InvalidValue(field, "finite numbers")
    sizes = np.abs(values[values != 0.0])
    if len(sizes) and not SMALLEST <= sizes.min() <= sizes.max() <= LARGEST:
        raise InvalidValue(field, f"0, or numbers of a size from {SMALLEST:g} to {LARGEST:g}")


def _coordinate_bound(steps: Floats) -> float:
    """||phi|| from the extreme values of each coordinate's sum over steps (H, cells, d).

    An episode may end after any step, so a step adds at least nothing to either extreme.
    """
    highest = np.maximum(steps.max(axis=1), 0.0).sum(axis=0)
    lowest = np.minimum(steps.min(axis=1), 0.0).sum(axis=0)
    return float(np.linalg.norm(np.maximum(highest, -lowest)))


def _pair_work(distinct: list[Floats]) -> float:
    """The multiplications of `_pair_bound`."""
    sizes = np.array([len(step) for step in distinct], dtype=np.float64)
    return float(distinct[0].shape[1] * (sizes.sum() ** 2 - (sizes**2).sum()) / 2.0)


def _pair_bound(distinct: list[Floats]) -> float:
    """||phi||, by a dynamic programme over steps: the most that each step adds to the square.

    ||phi(tau)||^2 = sum_h (||phi_h||^2 + 2 sum_{l<h} phi_l . phi_h), and a step h with the vector x
    adds at most ||x||^2 + 2 sum_{l<h} max_y y . x, y over the vectors of step l. An episode may end
    after any step, so the largest of the sums up to a step counts.
    """
    total = largest = 0.0
    for h, vectors in enumerate(distinct):
        gains = (vectors**2).sum(axis=1)
        for earlier in distinct[:h]:
            gains += 2.0 * (earlier @ vectors.T).max(axis=0)
        total += float(gains.max())
        largest = max(largest, total)
    return float(np.sqrt(largest))
