"""Transition counts: the estimate P_hat, and random draws of models around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidValue
from app.learning.arrays import Floats, Integers
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.model import TransitionModel


class TransitionCounts:
    """Counts of (state, action, what followed), kept sparse and sorted.

    What followed is a column of `TransitionModel`: a state to act in, or an end. A transition
    counts as soon as its episode is over, labelled or not. The last action before the horizon has
    no known successor unless one was reported: it is a visit, but not part of the estimate.
    """

    def __init__(self, spaces: Spaces) -> None:
        self.spaces = spaces
        rows = spaces.states * spaces.actions
        self._width = 2 * spaces.states + 1
        self._keys: Integers = np.empty(0, dtype=np.int64)  # row * width + column, sorted
        self._counts: Integers = np.empty(0, dtype=np.int64)
        self.visits: Integers = np.zeros(rows, dtype=np.int64)  # N(s, a), last steps included
        self.starts: Integers = np.zeros(spaces.states, dtype=np.int64)

    def add(self, trajectory: Trajectory) -> None:
        """Count the transitions of one finished or abandoned episode."""
        S, A, H = self.spaces.states, self.spaces.actions, self.spaces.horizon
        trajectory.check(S, A, H)
        if not len(trajectory):
            return
        rows = trajectory.states * A + trajectory.actions
        followers = trajectory.states[1:]
        last = self._last_column(trajectory)
        if last is not None:
            followers = np.append(followers, last)
        self._count(rows[: len(followers)] * self._width + followers)
        np.add.at(self.visits, rows, 1)
        self.starts[trajectory.states[0]] += 1

    def report(self, trajectory: Trajectory) -> None:
        """Count the successor of the last action of an episode that was counted without it."""
        column = self._last_column(trajectory)
        if column is not None and len(trajectory):
            row = int(trajectory.states[-1]) * self.spaces.actions + int(trajectory.actions[-1])
            self._count(np.array([row * self._width + column]))

    def _last_column(self, trajectory: Trajectory) -> int | None:
        """The column that the last action led to, or None if it is unknown."""
        S = self.spaces.states
        if trajectory.ended:
            return S + (trajectory.final if trajectory.final >= 0 else S)
        return trajectory.final if trajectory.final >= 0 else None

    def _count(self, keys: Integers) -> None:
        fresh, times = np.unique(keys, return_counts=True)
        place = np.searchsorted(self._keys, fresh)
        known = np.zeros(len(fresh), dtype=np.bool_)
        inside = place < len(self._keys)
        known[inside] = self._keys[place[inside]] == fresh[inside]
        self._counts[place[known]] += times[known]
        if known.all():
            return
        self._keys = np.insert(self._keys, place[~known], fresh[~known])
        self._counts = np.insert(self._counts, place[~known], times[~known])

    def successors(self) -> Floats:
        """The number of known successors of each row, shape (S*A,): the denominators of P_hat."""
        rows = self._keys // self._width
        return np.bincount(rows, weights=self._counts, minlength=len(self.visits)).astype(float)

    def estimate(self) -> TransitionModel:
        """P_hat: the ratio where a successor is known, otherwise uniform (an empty row)."""
        return self._model(self._keys, self._counts.astype(np.float64))

    def draw(self, rng: np.random.Generator, mass: float = 2.0) -> TransitionModel:
        """Draw each known row from a Dirichlet: its counts, and ``mass`` spread as its state's.

        An action that failed both times it was tried may still lead where the other actions of its
        state lead. From its counts alone it would fail in every draw and never be tried again.
        """
        A, width = self.spaces.actions, self._width
        states, columns = self._keys // width // A, self._keys % width
        places, which = np.unique(states * width + columns, return_inverse=True)
        totals = np.bincount(which, weights=self._counts)
        states, columns = places // width, places % width
        shares = totals / np.bincount(states, weights=totals)[states]
        rows = states[:, None] * A + np.arange(A)
        known = self.successors()[rows] > 0
        extra = (rows * width + columns[:, None])[known]
        keys, weights = self._with(extra, np.repeat(mass * shares, known.sum(axis=1)))
        return self._model(keys, np.maximum(rng.standard_gamma(weights), 1e-300))

    def guess(self, rng: np.random.Generator, few: int = 3, mass: float = 0.5) -> TransitionModel:
        """P_hat, with each unseen row drawn from a Dirichlet of total ``mass`` on ``few`` states.

        A uniform row is the same in every plan. Random rows differ from plan to plan, and some of
        them make an untried action look worth trying.
        """
        rows = self._keys // self._width
        unseen = np.setdiff1d(np.arange(len(self.visits)), rows)
        places = rng.integers(self.spaces.states, size=(len(unseen), few))
        draws = np.maximum(rng.standard_gamma(mass / few, size=places.shape), 1e-300)
        extra = (unseen[:, None] * self._width + places).ravel()
        return self._model(*self._with(extra, draws.ravel()))

    def _with(self, keys: Integers, weights: Floats) -> tuple[Integers, Floats]:
        """The counts together with more entries, sorted by key."""
        keys = np.concatenate([self._keys, keys])
        order = np.argsort(keys, kind="stable")
        return keys[order], np.concatenate([self._counts, weights])[order]

    def _model(self, keys: Integers, weights: Floats) -> TransitionModel:
        """Build a model from sorted entries by normalising each row; equal keys may repeat."""
        rows, columns = keys // self._width, keys % self._width
        count = self.spaces.states * self.spaces.actions
        totals = np.bincount(rows, weights=weights, minlength=count)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
        shares = weights / totals[rows]
        return TransitionModel(self.spaces.states, self.spaces.actions, indptr, columns, shares)

    def start(self) -> Floats:
        """The empirical distribution of the first state, uniform before the first episode."""
        total = self.starts.sum()
        if total == 0:
            return np.full(self.spaces.states, 1.0 / self.spaces.states)
        share: Floats = self.starts / total
        return share

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """The counts as named arrays, for storage."""
        return {
            "keys": self._keys,
            "counts": self._counts,
            "visits": self.visits,
            "starts": self.starts,
        }

    def load(self, arrays: dict[str, NDArray[np.int64]]) -> None:
        """Restore the counts from `arrays`."""
        if (
            arrays["visits"].shape != self.visits.shape
            or arrays["starts"].shape != self.starts.shape
        ):
            raise InvalidValue("transitions", f"counts for {self.spaces}")
        self._keys, self._counts = arrays["keys"].copy(), arrays["counts"].copy()
        self.visits, self.starts = arrays["visits"].copy(), arrays["starts"].copy()
