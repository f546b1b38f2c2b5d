"""Nets: a bounded number of visited states that represents all of them."""

from __future__ import annotations

import numba
import numpy as np

from app.learning.arrays import Floats, Integers

_CANDIDATES = 4000


def choose_net(points: Floats, size: int, rng: np.random.Generator) -> Floats:
    """At most ``size`` different points: half spread out, half as dense as the visits.

    The first half is a farthest-point choice, which reaches the rims; the second is random.
    """
    points = np.unique(points, axis=0)
    if len(points) > _CANDIDATES:
        points = points[np.sort(rng.choice(len(points), _CANDIDATES, replace=False))]
    if len(points) <= size:
        return points
    spread = farthest_points(points, size - size // 2)
    others = np.setdiff1d(np.arange(len(points)), spread)
    dense = rng.choice(others, size // 2, replace=False)
    return np.asarray(points[np.sort(np.concatenate([spread, dense]))])


def farthest_points(points: Floats, count: int) -> Integers:
    """Indices of points, each the farthest from those before it; the first is index 0."""
    chosen = np.zeros(count, dtype=np.int64)
    _spread_out(np.ascontiguousarray(points), chosen)
    return chosen


@numba.njit(cache=True, error_model="numpy")
def _spread_out(points: Floats, chosen: Integers) -> None:
    gaps = np.full(len(points), np.inf)
    for k in range(1, len(chosen)):
        last, best = chosen[k - 1], 0
        for j in range(len(points)):
            distance = 0.0
            for i in range(points.shape[1]):
                gap = points[j, i] - points[last, i]
                distance += gap * gap
            gaps[j] = min(gaps[j], distance)
            if gaps[j] > gaps[best]:
                best = j
        chosen[k] = best
