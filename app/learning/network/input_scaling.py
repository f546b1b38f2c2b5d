"""Input scaling: observations mapped to [-1, 1] by their bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.learning.arrays import Floats

SLACK = 4.5  # numbers are clipped this many ranges beyond their bounds: 10 when scaled


@dataclass(frozen=True, eq=False)
class InputScaling:
    """Maps a number x with bounds (low, high) to 2 (x - low) / (high - low) - 1 if ``scaled``.

    Numbers are first clipped to 4.5 ranges beyond their bounds, so that nothing can overflow.
    """

    low: Floats  # (k,)
    high: Floats  # (k,)
    scaled: bool = True

    def __call__(self, observations: Floats) -> Floats:
        """The inputs of a network, shape (n, k) as given."""
        held = np.minimum(np.maximum(observations, self._edges[0]), self._edges[1])
        return 2.0 * (held - self.low) / self._span - 1.0 if self.scaled else held

    @cached_property
    def _span(self) -> Floats:
        return np.asarray(self.high - self.low)

    @cached_property
    def _edges(self) -> tuple[Floats, Floats]:
        slack = SLACK * self._span
        return self.low - slack, self.high + slack
