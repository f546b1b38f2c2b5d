"""Local-linear interpolation on scattered centres, with weights that are never negative.

The weights of a point z are those of a local linear regression on its nearest centres c_j: with
rows x_j = (1, (c_j - z) / r), r the distance of the farthest of them, and kernel weights k_j, the
prediction at z is e_1' (X'KX + R)^-1 X'K y. Negative weights are cut to 0 and the rest divided by
their sum: a probability, as a transition model needs it.
"""

from __future__ import annotations

import numba
import numpy as np

from app.learning.arrays import Floats, Integers

_NEARNESS = 1e-3  # added to squared relative distances: a point on a centre is that centre
_PENALTY = 1e-3  # on slopes, for centres that lie in a plane


def neighbours(dimensions: int) -> int:
    """How many centres an interpolation uses: 2 d + 2."""
    return 2 * dimensions + 2


def interpolate(points: Floats, centres: Floats, count: int) -> tuple[Integers, Floats]:
    """Centres and weights for each point (n, d): two arrays of shape (n, min(count, K))."""
    count = min(count, len(centres))
    chosen = np.empty((len(points), count), dtype=np.int64)
    weights = np.empty((len(points), count))
    _interpolate_all(np.ascontiguousarray(points), np.ascontiguousarray(centres), chosen, weights)
    return chosen, weights


@numba.njit(cache=True, error_model="numpy")
def _interpolate_all(points: Floats, centres: Floats, chosen: Integers, weights: Floats) -> None:
    distances = np.empty(chosen.shape[1])
    for i in range(len(points)):
        nearest(points[i], centres, chosen[i], distances)
        local_weights(points[i], centres, chosen[i], distances, weights[i])


@numba.njit(cache=True, error_model="numpy")
def nearest(point: Floats, centres: Floats, chosen: Integers, distances: Floats) -> None:
    """Fill the indices and squared distances of the nearest centres, nearest first."""
    count, found = len(chosen), 0
    for j in range(len(centres)):
        distance = 0.0
        for i in range(len(point)):
            gap = point[i] - centres[j, i]
            distance += gap * gap
        if found == count and distance >= distances[count - 1]:
            continue
        place = found if found < count else count - 1
        while place > 0 and distances[place - 1] > distance:
            distances[place] = distances[place - 1]
            chosen[place] = chosen[place - 1]
            place -= 1
        distances[place] = distance
        chosen[place] = j
        found = min(found + 1, count)


@numba.njit(cache=True, error_model="numpy")
def local_weights(
    point: Floats, centres: Floats, chosen: Integers, distances: Floats, weights: Floats
) -> None:
    """Fill the clipped weights of a point; ``distances`` are the squared ones of ``chosen``."""
    count, d = len(chosen), len(point)
    farthest = distances[count - 1]
    if count == 1 or farthest == 0.0:
        weights[:] = 1.0 / count
        return
    radius = np.sqrt(farthest)
    rows, kernel = np.empty((count, d + 1)), np.empty(count)
    for j in range(count):
        kernel[j] = 1.0 / (distances[j] / farthest + _NEARNESS)
        rows[j, 0] = 1.0
        for i in range(d):
            rows[j, i + 1] = (centres[chosen[j], i] - point[i]) / radius
    solution = _first_column(rows, kernel)
    total = 0.0
    for j in range(count):
        weight = 0.0
        for i in range(d + 1):
            weight += rows[j, i] * solution[i]
        weights[j] = max(weight * kernel[j], 0.0)
        total += weights[j]
    for j in range(count):
        weights[j] /= total


@numba.njit(cache=True, error_model="numpy")
def _first_column(rows: Floats, kernel: Floats) -> Floats:
    """(X'KX + R)^-1 e_1 by a Cholesky factor, shape (d + 1,)."""
    size, mass = rows.shape[1], kernel.sum()
    gram = np.zeros((size, size))
    for j in range(len(rows)):
        for a in range(size):
            for b in range(a + 1):
                gram[a, b] += kernel[j] * rows[j, a] * rows[j, b]
    for a in range(1, size):
        gram[a, a] += _PENALTY * mass
    for a in range(size):
        for b in range(a + 1):
            total = gram[a, b]
            for c in range(b):
                total -= gram[a, c] * gram[b, c]
            gram[a, b] = np.sqrt(total) if a == b else total / gram[b, b]
    solution = np.zeros(size)
    for a in range(size):
        total = 1.0 if a == 0 else 0.0
        for c in range(a):
            total -= gram[a, c] * solution[c]
        solution[a] = total / gram[a, a]
    for a in range(size - 1, -1, -1):
        total = solution[a]
        for c in range(a + 1, size):
            total -= gram[c, a] * solution[c]
        solution[a] = total / gram[a, a]
    return solution
