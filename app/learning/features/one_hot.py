"""One-hot features: counts of steps, states and actions, or of any combination of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from app.errors import InvalidValue
from app.learning.arrays import Floats, Integers
from app.learning.features.base import Norms, Row, StepFeatures
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.occupancy import Occupancy


@dataclass(frozen=True)
class OneHot(StepFeatures):
    """Counts of (step, state, action), or of any part of it, over chosen steps."""

    spaces: Spaces
    step: bool
    state: bool
    action: bool
    steps: tuple[int, ...]  # strictly increasing

    def __post_init__(self) -> None:
        if not (self.step or self.state or self.action):
            raise InvalidValue("features.over", "at least one of step, state, action")
        within = all(0 <= h < self.spaces.horizon for h in self.steps)
        if not self.steps or not within or list(self.steps) != sorted(set(self.steps)):
            last = self.spaces.horizon - 1
            raise InvalidValue("features.steps", f"different steps from 0 to {last}, in order")

    def __str__(self) -> str:
        parts = [name for name in ("step", "state", "action") if getattr(self, name)]
        all_steps = len(self.steps) == self.spaces.horizon
        at = "all steps" if all_steps else f"steps {', '.join(map(str, self.steps))}"
        return f"counts of ({', '.join(parts)}) over {at}"

    @property
    def _shape(self) -> tuple[int, int, int]:
        return (
            len(self.steps) if self.step else 1,
            self.spaces.states if self.state else 1,
            self.spaces.actions if self.action else 1,
        )

    @property
    def dimension(self) -> int:
        """d, the number of features."""
        return int(np.prod(self._shape))

    def row(self, trajectory: Trajectory) -> Row:
        """How often each feature occurs."""
        chosen = np.asarray(self.steps)
        played = np.count_nonzero(chosen < len(trajectory))
        live = chosen[:played]
        order, s, a = np.arange(played), trajectory.states[live], trajectory.actions[live]
        if trajectory.ended and not self.action and (trajectory.final >= 0 or not self.state):
            order = np.arange(len(chosen))
            left = len(chosen) - played
            s = np.concatenate([s, np.full(left, trajectory.final)])
        _, states, actions = self._shape
        index = np.zeros(len(order), dtype=np.int64)
        if self.step:
            index += order * states * actions
        if self.state:
            index += s * actions
        if self.action:
            index += a
        indices, counts = np.unique(index, return_counts=True)
        return indices, counts.astype(np.float64)

    def spread(self, weights: Floats) -> Floats:
        """The weight of the feature that each cell touches; zero at the other steps."""
        table = np.zeros(self.spaces.shape, dtype=weights.dtype)
        table[list(self.steps)] = weights.reshape(self._shape)
        return table

    def remainders(self, weights: Floats) -> Floats:
        """Sums over the steps that are left, for features without the action."""
        H, S = self.spaces.horizon, self.spaces.states
        table = np.zeros((H + 1, S + 1))
        if self.action:
            return table
        table[list(self.steps), :S] = weights.reshape(self._shape)[:, :, 0]
        if not self.state:
            table[:, S] = table[:, 0]
        return np.cumsum(table[::-1], axis=0)[::-1]

    def widths(self, norms: Norms) -> tuple[Floats, Floats]:
        """The norms of the unit vectors, spread like weights."""
        units = norms(sparse.eye_array(self.dimension, format="csr"))
        return self.spread(units), self.remainders(units)

    def largest_norm(self) -> float:
        """sqrt(K) for K chosen steps when steps have features of their own, else K.

        With the step in the map the K unit vectors of a trajectory are orthogonal. Without it they
        may all be the same vector.
        """
        return float(np.sqrt(len(self.steps)) if self.step else len(self.steps))

    @property
    def first_step(self) -> int:
        """The first of the chosen steps."""
        return self.steps[0]

    @property
    def is_coarse(self) -> bool:
        """Whether the step is not part of a feature."""
        return not self.step

    @property
    def has_constant_steps(self) -> bool:
        """With the step in the map, each chosen step of an episode that is not over counts once."""
        return self.step and len(self.steps) > 1

    @property
    def has_orthogonal_steps(self) -> bool:
        """Whether the step is part of a feature, or there is only one."""
        return self.step or len(self.steps) == 1

    def least_touched(self, touches: Floats) -> Floats:
        """The count of the one feature of each cell."""
        table, at = super().least_touched(touches), list(self.steps)
        table[at] = self.spread(touches)[at]
        return table

    def without_steps(self) -> OneHot | None:
        """Counts of the states, or of the actions where the map has no states."""
        if not self.step or not (self.state or self.action):
            return None
        return replace(self, step=False, action=not self.state)

    def mean(self, visits: Occupancy) -> Floats:
        """The expected count of each feature."""
        steps, S = list(self.steps), self.spaces.states
        cells = visits.cells[steps]  # (K, S, A)
        if not self.action:
            ended = visits.ended[steps]
            cells = cells.sum(axis=2, keepdims=True)
            if self.state:
                cells = cells + ended[:, :S, None]
            else:
                cells = cells.sum(axis=1, keepdims=True) + ended.sum(axis=1)[:, None, None]
        elif not self.state:
            cells = cells.sum(axis=1, keepdims=True)
        if not self.step:
            cells = cells.sum(axis=0, keepdims=True)
        return np.asarray(cells).ravel()

    def rows(self, states: Integers, actions: Integers, ended: Integers) -> sparse.csr_array:
        """The counts of each episode."""
        (n, k), S, K = states.shape, self.spaces.states, len(self.steps)
        weights, index = np.zeros((n, K)), np.zeros((n, K), dtype=np.int64)
        played = np.array([h for h in self.steps if h < k], dtype=np.int64)
        weights[:, : len(played)] = 1.0
        at = np.zeros_like(index)
        at[:, : len(played)] = states[:, played]
        if not self.action:
            located = (ended >= 0) & ((ended < S) if self.state else True)
            weights[:, len(played) :] = located[:, None]
            at[:, len(played) :] = np.where(located & (ended < S), ended, 0)[:, None]
        _, by_state, by_action = self._shape
        if self.step:
            index += np.arange(K) * by_state * by_action
        if self.state:
            index += at * by_action
        if self.action:
            index[:, : len(played)] += actions[:, played]
        return _merged(index, weights, self.dimension)


def _merged(index: Integers, weights: Floats, dimension: int) -> sparse.csr_array:
    """Rows with ``weights`` at the columns ``index``; equal columns are added up."""
    n, width = index.shape
    offsets = np.arange(n + 1) * width
    rows = sparse.csr_array((weights.ravel(), index.ravel(), offsets), shape=(n, dimension))
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows
