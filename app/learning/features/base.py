"""Feature maps of whole trajectories, phi(tau) = sum_h phi_h(s_h, a_h), never built as a tensor.

A map turns a trajectory into a sparse row of counts, and weights w over its d features into the
table w_h(s, a) = w . phi_h(s, a) that the planners take. After an early end the steps that are left
count in features over state and step, and give nothing in features that include the action.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse

from app.errors import InvalidValue
from app.learning.arrays import Floats, Integers
from app.learning.trajectory import Trajectory

Row = tuple[Integers, Floats]  # indices, strictly increasing, and their values
SMALLEST, LARGEST = 1e-9, 1e9  # sizes of a client's feature that is not 0

ROUNDING = 1e-13  # share of a sum's terms below which the sum is zero

Norms = Callable[[sparse.csr_array], Floats]


@dataclass(frozen=True)
class Spaces:
    """S states, A actions, horizon H."""

    states: int
    actions: int
    horizon: int

    def __post_init__(self) -> None:
        for field in ("states", "actions", "horizon"):
            if getattr(self, field) < 1:
                raise InvalidValue(field, "at least 1")

    @property
    def shape(self) -> tuple[int, int, int]:
        """(H, S, A), the shape of every table over cells."""
        return (self.horizon, self.states, self.actions)


class FeatureMap(Protocol):
    """A sum-decomposable feature map."""

    @property
    def spaces(self) -> Spaces:
        """What it is a map of."""
        ...

    @property
    def dimension(self) -> int:
        """d, the number of features."""
        ...

    def row(self, trajectory: Trajectory) -> Row:
        """phi(tau), unscaled, as a sparse row."""
        ...

    def spread(self, weights: Floats) -> Floats:
        """w . phi_h(s, a) for every cell, shape (H, S, A)."""
        ...

    def remainders(self, weights: Floats) -> Floats:
        """w . (sum of phi over the steps h..H-1) once ended in e, shape (H + 1, S + 1).

        Row H is zero; column S is an end that nobody located.
        """
        ...

    def widths(self, norms: Norms) -> tuple[Floats, Floats]:
        """The norm of phi_h(s, a) for every cell, and its sum over what is left once ended in e.

        The shapes are (H, S, A) and (H + 1, S + 1); ``norms`` gives the norm of a matrix's rows.
        """
        ...

    def largest_norm(self) -> float:
        """A proved bound on the norm of phi(tau) over every trajectory."""
        ...


def stack_rows(rows: Sequence[Row], dimension: int) -> sparse.csr_array:
    """Rows one below the other, shape (n, d)."""
    indptr = np.concatenate([[0], np.cumsum([len(indices) for indices, _ in rows])])
    none: list[Integers] = [np.empty(0, dtype=np.int64)]
    indices = np.concatenate(none + [indices for indices, _ in rows])
    values = np.concatenate([np.empty(0)] + [values for _, values in rows])
    return sparse.csr_array((values, indices, indptr), shape=(len(rows), dimension))


@dataclass(frozen=True)
class OneHot:
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

        With the step in the map the K unit vectors of a trajectory are orthogonal; without it
        they may all be the same one.
        """
        return float(np.sqrt(len(self.steps)) if self.step else len(self.steps))


@dataclass(frozen=True)
class Table:
    """A client's own features, (S, A, d) or (H, S, A, d)."""

    spaces: Spaces
    values: Floats

    def __post_init__(self) -> None:
        H, S, A = self.spaces.shape
        if self.values.shape[:-1] not in {(S, A), (H, S, A)} or self.values.shape[-1] < 1:
            expected = f"shape ({S}, {A}, d) or ({H}, {S}, {A}, d)"
            raise InvalidValue("features.values", f"{expected}, got {self.values.shape}")
        if not np.isfinite(self.values).all():
            raise InvalidValue("features.values", "finite numbers")
        sizes = np.abs(self.values[self.values != 0.0])
        if len(sizes) and not SMALLEST <= sizes.min() <= sizes.max() <= LARGEST:
            # Past this the squares that learning takes lose their meaning.
            span = f"from {SMALLEST:g} to {LARGEST:g}"
            raise InvalidValue("features.values", f"0, or numbers of a size {span}")

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
        # What is left of terms that cancel is rounding, not a feature.
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
        """The sum over steps of the largest norm of a step's features (triangle inequality)."""
        norms = np.linalg.norm(self.values, axis=-1).max(axis=(-2, -1))
        return float(np.broadcast_to(norms, self.spaces.horizon).sum())


@dataclass(frozen=True)
class Blocks:
    """Several maps side by side: their features one after the other."""

    spaces: Spaces
    parts: tuple[FeatureMap, ...]

    def __str__(self) -> str:
        return "; ".join(str(part) for part in self.parts)

    @property
    def dimension(self) -> int:
        """d, over all parts."""
        return int(self.offsets[-1])

    @property
    def offsets(self) -> Integers:
        """Where each part's features begin, and where the last one's end."""
        return np.concatenate([[0], np.cumsum([part.dimension for part in self.parts])])

    def row(self, trajectory: Trajectory) -> Row:
        """The parts' rows in sequence."""
        rows = [part.row(trajectory) for part in self.parts]
        shifted = [indices + at for (indices, _), at in zip(rows, self.offsets, strict=False)]
        return np.concatenate(shifted), np.concatenate([values for _, values in rows])

    def _split(self, weights: Floats) -> list[Floats]:
        return np.split(weights, self.offsets[1:-1])

    def spread(self, weights: Floats) -> Floats:
        """The parts' tables added up."""
        pairs = zip(self.parts, self._split(weights), strict=True)
        total: Floats = np.sum([part.spread(own) for part, own in pairs], axis=0)
        return total

    def remainders(self, weights: Floats) -> Floats:
        """The parts' remainders added up."""
        pairs = zip(self.parts, self._split(weights), strict=True)
        total: Floats = np.sum([part.remainders(own) for part, own in pairs], axis=0)
        return total

    def widths(self, norms: Norms) -> tuple[Floats, Floats]:
        """The parts' widths added up: no smaller than the norm of the whole."""
        cells, ended = [], []
        for part, at in zip(self.parts, self.offsets, strict=False):
            of_cells, of_ended = part.widths(self._within(norms, int(at)))
            cells.append(of_cells)
            ended.append(of_ended)
        return np.sum(cells, axis=0), np.sum(ended, axis=0)

    def _within(self, norms: Norms, at: int) -> Norms:
        """Norms of one part's rows, placed among all features from ``at`` on."""

        def placed(rows: sparse.csr_array) -> Floats:
            shape = (rows.shape[0], self.dimension)
            return norms(sparse.csr_array((rows.data, rows.indices + at, rows.indptr), shape=shape))

        return placed

    def largest_norm(self) -> float:
        """The parts' bounds combined: their features are orthogonal."""
        return float(np.linalg.norm([part.largest_norm() for part in self.parts]))
