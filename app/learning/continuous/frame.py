"""Functions on a net of centres: their prior, and episodes as weights on the centres.

It holds what all label models on one net share.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from app.learning.arrays import Floats, Integers
from app.learning.continuous.interpolation import interpolate, neighbours
from app.learning.continuous.process import squared_distances, squared_exponential

_JITTER = 1e-6


class Frame:
    """A coarse net that functions are given on, and the fine one that plans are made on."""

    def __init__(self, coarse: Floats, fine: Floats) -> None:
        self.coarse, self.fine = coarse, fine
        self.root_d = math.sqrt(fine.shape[1])
        self._covariances: dict[float, Floats] = {}
        self._roots: dict[float, Floats] = {}

    def covariance(self, length: float) -> Floats:
        """The prior covariance of unit variance between the coarse centres."""
        if length not in self._covariances:
            self._covariances[length] = squared_exponential(self._squares, length, 1.0)
        return self._covariances[length]

    def root(self, length: float) -> Floats:
        """The Cholesky factor of the covariance, with a little added to its diagonal."""
        if length not in self._roots:
            inner = self.covariance(length) + _JITTER * np.eye(len(self.coarse))
            self._roots[length] = np.asarray(np.linalg.cholesky(inner), dtype=np.float64)
        return self._roots[length]

    def onto_fine(self, values: Floats) -> Floats:
        """Interpolate values of the coarse centres onto the fine ones."""
        chosen, weights = self._fine_weights
        return np.asarray((values[chosen] * weights).sum(axis=1))

    def occupancy(self, states: Floats) -> Floats:
        """The weight of each coarse centre for some states (n, d); the weights sum to 1."""
        chosen, weights = interpolate(states, self.coarse, neighbours(states.shape[1]))
        counts = np.bincount(chosen.ravel(), weights.ravel(), minlength=len(self.coarse))
        return np.asarray(counts / len(states))

    @cached_property
    def _squares(self) -> Floats:
        return squared_distances(self.coarse, self.coarse)

    @cached_property
    def _fine_weights(self) -> tuple[Integers, Floats]:
        return interpolate(self.fine, self.coarse, neighbours(self.fine.shape[1]))


class Track:
    """One episode for label models: its states 1..H in z. After an end the last one repeats."""

    def __init__(self, frame: Frame, states: Floats, ended: bool) -> None:
        self._frame = frame
        self.states, self.ended = states, ended
        self._rows: dict[int, Floats] = {}

    def occupied(self, first: int) -> Floats:
        """The mean weights of the coarse centres over the states first..H."""
        if first not in self._rows:
            self._rows[first] = self._frame.occupancy(self.states[first - 1 :])
        return self._rows[first]
