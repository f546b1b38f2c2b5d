"""The rewards of episodes at their end, and how much they curve over the cells of a grid.

The reward min(z, 1), z = mu(x) + y, is interpolated from the corners of a cell. It rises above that
for two reasons. mu rises above its chord by at most K delta^2 / 8 with K >= -mu''. And min(., 1),
being concave, rises above its own chord over the z of the cell by at most
(z_high - 1) (1 - z_low) / (z_high - z_low), where the kink z = 1 lies between them.
"""

from __future__ import annotations

import math

from app.planning.compiled import Array, jit
from app.planning.reward.grid import RewardGrid, RewardModel
from app.planning.rows import CURVATURE, sigmoid

STEEPEST = math.log(2.0 + math.sqrt(3.0))  # where mu'' is least


@jit
def bend(first: float, last: float) -> float:
    """The largest -mu'' on [first, last], or 0 where mu is convex."""
    if last <= 0.0:
        return 0.0
    if first < STEEPEST < last:
        return CURVATURE
    mu = sigmoid(first if first >= STEEPEST else last)
    return mu * (1.0 - mu) * (2.0 * mu - 1.0)


@jit
def kink(low: float, high: float) -> float:
    """The most by which min(z, 1) exceeds its chord over low <= z <= high."""
    if high <= 1.0 or low >= 1.0:
        return 0.0
    return (high - 1.0) * (1.0 - low) / (high - low)


@jit
def add_rewards(
    scale: float, x: float, y: float, delta_a: float, delta_b: float, rewards: Array, bends: Array
) -> None:
    """Add scale * min(mu + beta, 1) at the points from logit x and width y on, and its bends.

    Both arrays have the shape of the window; ``bends[i, j]`` is of the cell whose first corner is
    point (i, j). A window of one point has no extent that way.
    """
    na, nb = rewards.shape
    for i in range(na):
        first, last = x + i * delta_a, x + min(i + 1, na - 1) * delta_a
        mu, mu_last = sigmoid(first), sigmoid(last)
        curve = bend(first, last) * (last - first) ** 2 / 8.0
        for j in range(nb):
            low, high = y + j * delta_b, y + min(j + 1, nb - 1) * delta_b
            rewards[i, j] += scale * min(mu + low, 1.0)
            if mu + low < 1.0:
                bends[i, j] += scale * (curve + kink(mu + low, mu_last + high))


@jit
def stop(
    model: RewardModel, grid: RewardGrid, h: int, s: int, a: int, rewards: Array, bends: Array
) -> None:
    """The bonus of (h, s, a) and the rewards of the episodes whose last action it is."""
    H, S, A = model.weights.shape
    x = model.offset + grid.low_a[h, s] * grid.delta_a + model.weights[h, s, a]
    y = grid.low_b[h, s] * grid.delta_b + model.widths[h, s, a]
    rewards[:] = model.bonuses[h, s, a]
    bends[:] = 0.0
    if h == H - 1:
        add_rewards(1.0, x, y, grid.delta_a, grid.delta_b, rewards, bends)
        return
    for n in range(model.indptr[s * A + a], model.indptr[s * A + a + 1]):
        e = model.columns[n] - S
        if e >= 0:
            more_x = x + model.ended_weights[h + 1, e]
            more_y = y + model.ended_widths[h + 1, e]
            chance = model.probabilities[n]
            add_rewards(chance, more_x, more_y, grid.delta_a, grid.delta_b, rewards, bends)
