"""Several feature maps side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from app.learning.arrays import Floats, Integers
from app.learning.features.base import Norms, Row, StepFeatures
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.occupancy import Occupancy


@dataclass(frozen=True)
class Blocks(StepFeatures):
    """Several maps as one: their features are concatenated."""

    spaces: Spaces
    maps: tuple[StepFeatures, ...]

    @property
    def parts(self) -> Sequence[StepFeatures]:
        """The maps, in order."""
        return self.maps

    def __str__(self) -> str:
        return "; ".join(str(part) for part in self.maps)

    @property
    def dimension(self) -> int:
        """d, over all parts."""
        return int(self.offsets[-1])

    @property
    def offsets(self) -> Integers:
        """Where each part's features begin, and where the last one's end."""
        return np.concatenate([[0], np.cumsum([part.dimension for part in self.maps])])

    def row(self, trajectory: Trajectory) -> Row:
        """The parts' rows in sequence."""
        rows = [part.row(trajectory) for part in self.maps]
        shifted = [indices + at for (indices, _), at in zip(rows, self.offsets, strict=False)]
        return np.concatenate(shifted), np.concatenate([values for _, values in rows])

    def _split(self, weights: Floats) -> list[Floats]:
        return np.split(weights, self.offsets[1:-1])

    def spread(self, weights: Floats) -> Floats:
        """The sum of the parts' tables."""
        pairs = zip(self.maps, self._split(weights), strict=True)
        total: Floats = np.sum([part.spread(block) for part, block in pairs], axis=0)
        return total

    def remainders(self, weights: Floats) -> Floats:
        """The sum of the parts' remainders."""
        pairs = zip(self.maps, self._split(weights), strict=True)
        total: Floats = np.sum([part.remainders(block) for part, block in pairs], axis=0)
        return total

    def widths(self, norms: Norms) -> tuple[Floats, Floats]:
        """The sum of the parts' widths, an upper bound on the norm of the whole."""
        cells, ended = [], []
        for part, at in zip(self.maps, self.offsets, strict=False):
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
        """The root of the sum of the parts' squared bounds: their features are orthogonal."""
        return float(np.linalg.norm([part.largest_norm() for part in self.maps]))

    @property
    def first_step(self) -> int:
        """The first step that any part looks at."""
        return min(part.first_step for part in self.maps)

    @property
    def is_coarse(self) -> bool:
        """Whether every part is."""
        return all(part.is_coarse for part in self.maps)

    @property
    def has_orthogonal_steps(self) -> bool:
        """Whether every part has: features of different parts are orthogonal."""
        return all(part.has_orthogonal_steps for part in self.maps)

    def least_touched(self, touches: Floats) -> Floats:
        """The smallest count over the parts."""
        pairs = zip(self.maps, self._split(touches), strict=True)
        smallest: Floats = np.min([part.least_touched(block) for part, block in pairs], axis=0)
        return smallest

    def mean(self, visits: Occupancy) -> Floats:
        """The parts' means in sequence."""
        return np.concatenate([part.mean(visits) for part in self.maps])

    def rows(self, states: Integers, actions: Integers, ended: Integers) -> sparse.csr_array:
        """The parts' rows side by side."""
        rows = [part.rows(states, actions, ended) for part in self.maps]
        return sparse.csr_array(sparse.hstack(rows, format="csr"))
