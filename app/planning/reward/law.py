"""The law of the reward-space controller: a lower bound on its true value.

The controller acts from grid sums (G, B); the true ones are alpha = G + xi and beta = B + eta (B
counted past 1 without rounding: there it changes nothing). Rounding is unbiased, so xi and eta are
martingales with independent increments at each step. The forward pass carries, for
every point, its probability and the moments E[xi], E[eta], E[xi^2], E[eta^2], E[xi eta] on it.

Where an episode stops, with z = mu(G) + B, c = 1 - z and X = mu'(G) xi + eta,

    min{mu(G + xi) + B + eta, 1} >= z + min(X, c) - K xi^2 / 2,    K >= -mu'' near G,

and given the mean m and variance q of X, E min(X, c) >= (m + c - sqrt(q + (c - m)^2)) / 2. Well
past the kink (c < 0) another bound can be better: with |mu(G + xi) - mu(G) + eta| <= |X'|,
X' = |xi|/4 + |eta|, the reward is at least 1 - (|X'| + c)^+ >= 1 - X'^2 / (4 |c|).
"""

from __future__ import annotations

import math

from app.planning.compiled import Array, jit
from app.planning.reward.ends import bend
from app.planning.reward.grid import RewardGrid, RewardModel
from app.planning.rows import sigmoid

MOMENTS = 6  # probability, then E of xi, eta, xi^2, eta^2 and xi eta


@jit
def assured(moments: Array, x: float, y: float, drift: float) -> tuple[float, float]:
    """The grid value of episodes that stop at sums (x, y), and a lower bound of the true one.

    Both are multiplied by their probability; ``drift`` bounds |xi|.
    """
    chance = moments[0]
    mu = sigmoid(x)
    slope, z = mu * (1.0 - mu), mu + y
    c = 1.0 - z
    mean = (slope * moments[1] + moments[2]) / chance
    square = slope * slope * moments[3] + 2.0 * slope * moments[5] + moments[4]
    variance = max(square / chance - mean * mean, 0.0)
    least = z + 0.5 * (mean + c - math.sqrt(variance + (c - mean) ** 2))
    least -= 0.5 * bend(x - drift, x + drift) * moments[3] / chance
    if c < 0.0:
        far = 0.25 * math.sqrt(moments[3] / chance) + math.sqrt(moments[4] / chance)
        least = max(least, 1.0 + far * far / (4.0 * c))
    return chance * min(z, 1.0), chance * max(least, 0.0)


@jit
def add_moments(target: Array, source: Array, chance: float, xi: float, eta: float) -> None:
    """Move a share of the mass, its errors grown by xi and eta."""
    p, m, n = source[0], source[1], source[2]
    target[0] += chance * p
    target[1] += chance * (m + xi * p)
    target[2] += chance * (n + eta * p)
    target[3] += chance * (source[3] + 2.0 * xi * m + xi * xi * p)
    target[4] += chance * (source[4] + 2.0 * eta * n + eta * eta * p)
    target[5] += chance * (source[5] + xi * n + eta * m + xi * eta * p)


@jit
def move(
    grid: RewardGrid, h: int, s: int, a: int, c: int, g: int, j: int, chance: float,
    source: Array, ahead: Array,
) -> None:  # fmt: skip
    """Move mass at (g, j) by action a of (h, s) into state c, rounding both sums."""
    g, j = g + grid.steps_a[h, s, a], j + grid.steps_b[h, s, a]
    theta_a, theta_b = grid.thetas_a[h, s, a], grid.thetas_b[h, s, a]
    if j >= grid.top:
        j, theta_b = grid.top, 0.0
    stride = grid.high_b[h + 1, c] - grid.low_b[h + 1, c] + 1
    place = grid.offsets[h + 1, c] - grid.layers[h + 1]
    place += (g - grid.low_a[h + 1, c]) * stride + j - grid.low_b[h + 1, c]
    for up_a in range(2 if theta_a > 0.0 else 1):
        share_a = theta_a if up_a else 1.0 - theta_a
        for up_b in range(2 if theta_b > 0.0 else 1):
            share_b = theta_b if up_b else 1.0 - theta_b
            xi, eta = (theta_a - up_a) * grid.delta_a, (theta_b - up_b) * grid.delta_b
            target = ahead[place + up_a * stride + up_b]
            add_moments(target, source, chance * share_a * share_b, xi, eta)


@jit
def leave(
    model: RewardModel, grid: RewardGrid, h: int, s: int, a: int, g: int, j: int, drift: float,
    source: Array, ahead: Array,
) -> tuple[float, float]:  # fmt: skip
    """Move the mass at (h, s, g, j) on; returns the grid value and lower bound of what stops."""
    H, S, A = model.weights.shape
    x = model.offset + g * grid.delta_a + model.weights[h, s, a]
    y = j * grid.delta_b + model.widths[h, s, a]
    if h == H - 1:
        return assured(source, x, y, drift)
    row = s * A + a
    if model.indptr[row] == model.indptr[row + 1]:
        for c in range(S):
            move(grid, h, s, a, c, g, j, 1.0 / S, source, ahead)
    seeming, sure = 0.0, 0.0
    for n in range(model.indptr[row], model.indptr[row + 1]):
        c, chance = model.columns[n], model.probabilities[n]
        if c < S:
            if chance > 0.0:
                move(grid, h, s, a, c, g, j, chance, source, ahead)
        else:
            rest_x, rest_y = model.ended_weights[h + 1, c - S], model.ended_widths[h + 1, c - S]
            more, most = assured(source, x + rest_x, y + rest_y, drift)
            seeming += chance * more
            sure += chance * most
    return seeming, sure


@jit
def follow(
    model: RewardModel, grid: RewardGrid, actions: Array, drifts: Array, tables: Array
) -> tuple[float, float]:
    """Forward pass under the controller: its value on the grid, and a bound from below.

    ``tables`` is (2, points, MOMENTS), for even and odd steps; ``drifts[h]`` bounds |xi| at h.
    """
    H, S, _ = model.weights.shape
    tables[0] = 0.0
    for s in range(S):
        tables[0, grid.offsets[0, s], 0] = model.start[s]
    value, lower = 0.0, 0.0
    for h in range(H):
        here, ahead = tables[h % 2], tables[(h + 1) % 2]
        ahead[:] = 0.0
        for s in range(S):
            nb = grid.high_b[h, s] - grid.low_b[h, s] + 1
            na = grid.high_a[h, s] - grid.low_a[h, s] + 1
            first = grid.offsets[h, s]
            for place in range(first, first + na * nb):
                source = here[place - grid.layers[h]]
                if source[0] > 0.0:
                    a = actions[place]
                    g = grid.low_a[h, s] + (place - first) // nb
                    j = grid.low_b[h, s] + (place - first) % nb
                    bonus = source[0] * model.bonuses[h, s, a]
                    seeming, sure = leave(model, grid, h, s, a, g, j, drifts[h], source, ahead)
                    value += bonus + seeming
                    lower += bonus + sure
    return value, lower
