"""How well the feature space is covered: the matrix A of the paper's Algorithm 2.

    A = omega^2 / 16 I + sum_i a_i a_i^T,    shape (d, d)

is never built: its eigenvectors are the right singular vectors of the averages a_i, and every
direction that no average touches has the eigenvalue omega^2 / 16. Directions that were given up
are left out of the *active* space, in which the smallest eigenvalue is sought.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from app.learning.arrays import Floats

TIE = 1e-9  # of omega^2: eigenvalues that differ by less are the same


@dataclass(frozen=True)
class Coverage:
    """The averages a_i so far, and the space in which directions are still sought."""

    omega: float
    averages: Floats  # (n, d)
    active: Floats | None = None  # (k, d), orthonormal rows; None is the whole space

    @property
    def floor(self) -> float:
        """omega^2 / 16, what every direction has from the start."""
        return self.omega**2 / 16.0

    @property
    def goal(self) -> float:
        """omega^2 / 8, the eigenvalue that every direction should reach."""
        return self.omega**2 / 8.0

    @property
    def size(self) -> int:
        """The dimension of the active space."""
        return int(self.averages.shape[1] if self.active is None else len(self.active))

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        """The eigenvalues above the floor, largest first, and their eigenvectors as rows."""
        if self.active is None:
            return _spectrum(self.averages, self.floor)
        values, rows = _spectrum(self.averages @ self.active.T, self.floor)
        return values, rows @ self.active

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue in the active space; infinite where that is empty."""
        values, _ = self._spectrum
        if not self.size:
            return float("inf")
        return self.floor if len(values) < self.size else float(values[-1])

    @property
    def is_covered(self) -> bool:
        """Whether every active direction has reached the goal."""
        return self.smallest >= self.goal

    @cached_property
    def _larger(self) -> Floats:
        """The eigenvectors whose eigenvalue is larger than the smallest."""
        values, rows = self._spectrum
        return rows[values > self.smallest + TIE * self.omega**2]

    @property
    def tied(self) -> int:
        """The number of directions that share the smallest eigenvalue."""
        return self.size - len(self._larger)

    def novel(self, vector: Floats) -> Floats:
        """The part of a vector in the eigenspace of the smallest eigenvalue."""
        if self.active is not None:
            vector = self.active.T @ (self.active @ vector)
        return vector - self._larger.T @ (self._larger @ vector)

    def give_up(self) -> Coverage:
        """Leave the eigenspace of the smallest eigenvalue out from now on."""
        return replace(self, active=self._larger)

    def add(self, average: Floats) -> Coverage:
        """Take in the average features of one more policy."""
        return replace(self, averages=np.vstack([self.averages, average]))

    def unreached(self, most: int) -> tuple[int, list[Floats]]:
        """How many directions of the whole space are below the goal, and ``most`` of them.

        They are orthogonal, each as close to a single feature as the space allows, with that
        feature's entry positive.
        """
        values, rows = _spectrum(self.averages, self.floor)
        taken = list(rows[values >= self.goal])
        shares = 1.0 - np.sum([row**2 for row in taken], axis=0) * np.ones(self.averages.shape[1])
        count = len(shares) - len(taken)
        found: list[Floats] = []
        for _ in range(min(count, most)):
            direction = np.zeros(len(shares))
            direction[int(np.argmax(shares))] = 1.0
            for row in taken:
                direction = direction - (row @ direction) * row
            direction /= np.linalg.norm(direction)
            found.append(direction)
            taken.append(direction)
            shares = shares - direction**2
        return count, found


def _spectrum(rows: Floats, floor: float) -> tuple[Floats, Floats]:
    if not rows.size:
        return np.zeros(0), np.zeros((0, rows.shape[1]))
    _, sizes, vectors = np.linalg.svd(rows, full_matrices=False)
    above = sizes**2 > TIE * floor
    return floor + sizes[above] ** 2, vectors[above]
