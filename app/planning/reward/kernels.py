"""The backward sweep of the reward-space planner: values, actions and an upper bound.

Both tables are bilinear between the points of a window. ``values`` is the value of the best
controller that rounds at random onto the grid. ``uppers`` bounds the best value of the model from
above everywhere: on a cell, the Q of an action is

    R(x, y) + F(x, y),   0 <= x, y <= 1 the place within the cell,

R the expected table of the next step, moved: bilinear on the four parts that x = 1 - theta_a and
y = 1 - theta_b cut; F the rewards of episodes that stop here, at most ``bends`` above the bilinear
interpolation I[F] of its corners (`reward_ends`). So Q exceeds the interpolated maximum by at most
max (R + I[F] - I[max_a Q]) + bends, and the first term, bilinear on each part, is largest at a
corner of a part. Raising the corners of the cell by that much makes the table a bound again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from app.planning.compiled import Array, jit
from app.planning.reward.ends import stop
from app.planning.reward.grid import RewardGrid, RewardModel


@jit
def add_block(
    out: Array, first_a: int, first_b: int,
    block: Array, low_a: int, high_a: int, low_b: int, high_b: int, scale: float,
) -> None:  # fmt: skip
    """Add scale times a table at the points from (first_a, first_b) on.

    ``block`` holds the points of the window low_a..high_a by low_b..high_b, one after the other.
    Both indices are held within the window, of which 1 is the end where widths can get to 1.
    """
    count, stride = out.shape[1], high_b - low_b + 1
    begin = min(max(low_b - first_b, 0), count)
    end = max(min(high_b - first_b + 1, count), begin)
    for i in range(out.shape[0]):
        place = (min(max(first_a + i, low_a), high_a) - low_a) * stride
        line, source = out[i], block[place : place + stride]
        target, inside = line[begin:end], source[first_b + begin - low_b :]
        for j in range(begin):
            line[j] += scale * source[0]
        for j in range(end - begin):
            target[j] += scale * inside[j]
        for j in range(end, count):
            line[j] += scale * source[stride - 1]


@jit
def add_state(
    grid: RewardGrid, h: int, s: int, table: Array, first_a: int, first_b: int, scale: float,
    out: Array,
) -> None:  # fmt: skip
    """Add scale times the table of (h, s) at the points from (first_a, first_b) on."""
    low_a, high_a, low_b, high_b = (
        grid.low_a[h, s],
        grid.high_a[h, s],
        grid.low_b[h, s],
        grid.high_b[h, s],
    )
    block = table[grid.offsets[h, s] - grid.layers[h] :]
    add_block(out, first_a, first_b, block, low_a, high_a, low_b, high_b, scale)


@jit
def average(grid: RewardGrid, h: int, table: Array, mean: Array) -> None:
    """The mean over the states of step h, at the points that unseen rows read."""
    S = grid.offsets.shape[1]
    na = grid.high_a[h, S] - grid.low_a[h, S] + 1
    nb = grid.high_b[h, S] - grid.low_b[h, S] + 1
    out = mean[: na * nb].reshape(na, nb)
    out[:] = 0.0
    for s in range(S):
        add_state(grid, h, s, table, grid.low_a[h, S], grid.low_b[h, S], 1.0 / S, out)


@jit
def expect(
    model: RewardModel, grid: RewardGrid, h: int, row: int, first_a: int, first_b: int,
    table: Array, mean: Array, out: Array,
) -> None:  # fmt: skip
    """The table of step h expected after (state, action) ``row``, from a point on."""
    S = grid.offsets.shape[1]
    out[:] = 0.0
    if model.indptr[row] == model.indptr[row + 1]:
        low_a, high_a, low_b, high_b = (
            grid.low_a[h, S],
            grid.high_a[h, S],
            grid.low_b[h, S],
            grid.high_b[h, S],
        )
        add_block(out, first_a, first_b, mean, low_a, high_a, low_b, high_b, 1.0)
    for n in range(model.indptr[row], model.indptr[row + 1]):
        c = model.columns[n]
        if c < S:
            add_state(grid, h, c, table, first_a, first_b, model.probabilities[n], out)


@jit
def mix(table: Array, i: int, j: int, x: float, y: float) -> float:
    """The bilinear interpolation at (x, y) of the cell that begins at (i, j)."""
    left = (1.0 - y) * table[i, j] + y * table[i, j + 1]
    right = (1.0 - y) * table[i + 1, j] + y * table[i + 1, j + 1]
    mixed: float = (1.0 - x) * left + x * right
    return mixed


@jit
def improve(reads: Array, thetas: Array, rewards: Array, best: Array, choices: Array) -> None:
    """max_a Q at the points of a window, shape (na, nb), and its argmax."""
    na, nb = best.shape
    best[:] = -np.inf
    for a in range(len(thetas)):
        theta_a, theta_b = thetas[a, 0], thetas[a, 1]
        for i in range(na):
            line, chosen = best[i], choices[i]
            for j in range(nb):
                q = rewards[a, i, j] + mix(reads[a], i, j, theta_a, theta_b)
                better = q > line[j]
                line[j] = q if better else line[j]
                chosen[j] = a if better else chosen[j]


@jit
def add_excess(
    read: Array, theta_a: float, theta_b: float, reward: Array, bends: Array, best: Array,
    over: Array,
) -> None:  # fmt: skip
    """Raise ``over``, of cells, to what one action exceeds ``best`` by within them.

    That is R + I[F] - I[best] at the nine corners of the four parts of the cell, plus ``bends``.
    Where theta is 0 the parts are the whole, and windows of one point have theta 0.
    """
    na, nb = best.shape
    x, y = 1.0 - theta_a, 1.0 - theta_b
    for i in range(max(na - 1, 1)):
        p = min(i + 1, na - 1)
        for j in range(max(nb - 1, 1)):
            q = min(j + 1, nb - 1)
            d00, d01 = reward[i, j] - best[i, j], reward[i, q] - best[i, q]
            d10, d11 = reward[p, j] - best[p, j], reward[p, q] - best[p, q]
            d0, d1 = theta_b * d00 + y * d01, theta_b * d10 + y * d11
            more = max(
                d00 + mix(read, i, j, theta_a, theta_b),
                d01 + mix(read, i, q, theta_a, theta_b),
                d10 + mix(read, p, j, theta_a, theta_b),
                d11 + mix(read, p, q, theta_a, theta_b),
                d0 + x * read[i, j + 1] + theta_a * read[i + 1, j + 1],
                d1 + x * read[p, j + 1] + theta_a * read[p + 1, j + 1],
                theta_a * d00 + x * d10 + y * read[i + 1, j] + theta_b * read[i + 1, j + 1],
                theta_a * d01 + x * d11 + y * read[i + 1, q] + theta_b * read[i + 1, q + 1],
                theta_a * d0 + x * d1 + read[i + 1, j + 1],
            )
            over[i, j] = max(over[i, j], more + bends[i, j])


@jit
def lift(best: Array, over: Array) -> None:
    """Raise the corners of every cell by ``over``."""
    na, nb = best.shape
    for i in range(na - 1, -1, -1):
        for j in range(nb - 1, -1, -1):
            i0, i1 = max(i - 1, 0), min(i, max(na - 2, 0))
            j0, j1 = max(j - 1, 0), min(j, max(nb - 2, 0))
            best[i, j] += max(over[i0, j0], over[i0, j1], over[i1, j0], over[i1, j1])


class Scratch(NamedTuple):
    """Flat work arrays for one state with A actions and the largest window, na by nb."""

    reads: Array  # (A, na + 1, nb + 1): expected tables, from the moved first point on
    thetas: Array  # (A, 2), not flat
    rewards: Array  # (A, na, nb)
    bends: Array  # (A, na, nb)
    means: Array  # (2, na * nb), not flat: what unseen rows lead to
    over: Array  # (na, nb)
    choices: Array  # (na, nb)


def make_scratch(grid: RewardGrid, kind: DTypeLike) -> Scratch:
    """Allocate work arrays for the largest window; ``kind`` is the dtype of actions."""
    A = grid.steps_a.shape[2]
    na = int((grid.high_a - grid.low_a).max()) + 1
    nb = int((grid.high_b - grid.low_b).max()) + 1
    return Scratch(
        reads=np.empty(A * (na + 1) * (nb + 1)),
        thetas=np.empty((A, 2)),
        rewards=np.empty(A * na * nb),
        bends=np.empty(A * na * nb),
        means=np.empty((2, na * nb)),
        over=np.empty(na * nb),
        choices=np.empty(na * nb, dtype=kind),
    )


@jit
def settle(read: Array, theta: Array) -> None:
    """Interpolate once along an axis on which the window has a single point."""
    if read.shape[0] == 2:
        for j in range(read.shape[1]):
            read[0, j] += theta[0] * (read[1, j] - read[0, j])
            read[1, j] = read[0, j]
        theta[0] = 0.0
    if read.shape[1] == 2:
        for i in range(read.shape[0]):
            read[i, 0] += theta[1] * (read[i, 1] - read[i, 0])
            read[i, 1] = read[i, 0]
        theta[1] = 0.0


@jit
def read_all(
    model: RewardModel, grid: RewardGrid, h: int, s: int, table: Array, mean: Array,
    thetas: Array, reads: Array,
) -> None:  # fmt: skip
    """The expected tables after every action of (h, s); at the last step there are none."""
    H, _, A = model.weights.shape
    if h == H - 1:
        thetas[:] = 0.0
        reads[:] = 0.0
        return
    for a in range(A):
        thetas[a, 0], thetas[a, 1] = grid.thetas_a[h, s, a], grid.thetas_b[h, s, a]
        first_a = grid.low_a[h, s] + grid.steps_a[h, s, a]
        first_b = grid.low_b[h, s] + grid.steps_b[h, s, a]
        expect(model, grid, h + 1, s * A + a, first_a, first_b, table, mean, reads[a])
        settle(reads[a], thetas[a])


@jit
def sweep_state(
    model: RewardModel, grid: RewardGrid, h: int, s: int, ahead: Array, here: Array,
    actions: Array, scratch: Scratch,
) -> None:  # fmt: skip
    """The values, uppers and actions of (h, s)."""
    A = model.weights.shape[2]
    na = grid.high_a[h, s] - grid.low_a[h, s] + 1
    nb = grid.high_b[h, s] - grid.low_b[h, s] + 1
    first, last = grid.offsets[h, s], grid.offsets[h, s] + na * nb
    chosen = actions[first:last].reshape(na, nb)
    first, last = first - grid.layers[h], last - grid.layers[h]
    values = here[0][first:last].reshape(na, nb)
    uppers = here[1][first:last].reshape(na, nb)
    # Exactly this size, so that the arrays are contiguous and loops over them fast.
    thetas, over = scratch.thetas, scratch.over[: na * nb].reshape(na, nb)
    reads = scratch.reads[: A * (na + 1) * (nb + 1)].reshape(A, na + 1, nb + 1)
    rewards = scratch.rewards[: A * na * nb].reshape(A, na, nb)
    bends = scratch.bends[: A * na * nb].reshape(A, na, nb)
    choices = scratch.choices[: na * nb].reshape(na, nb)
    for a in range(A):
        stop(model, grid, h, s, a, rewards[a], bends[a])
    read_all(model, grid, h, s, ahead[0], scratch.means[0], thetas, reads)
    improve(reads, thetas, rewards, values, chosen)
    read_all(model, grid, h, s, ahead[1], scratch.means[1], thetas, reads)
    improve(reads, thetas, rewards, uppers, choices)
    over[:] = 0.0
    for a in range(A):
        add_excess(reads[a], thetas[a, 0], thetas[a, 1], rewards[a], bends[a], uppers, over)
    lift(uppers, over)


@jit
def sweep(
    model: RewardModel, grid: RewardGrid, scratch: Scratch, actions: Array, tables: Array
) -> None:
    """Backward pass: ``actions``, and in ``tables[0]`` the (values, uppers) of the first step.

    ``tables`` is (2, 2, points): even and odd steps, values and uppers.
    """
    H, S, _ = model.weights.shape
    for h in range(H - 1, -1, -1):
        ahead, here = tables[(h + 1) % 2], tables[h % 2]
        if h < H - 1:
            average(grid, h + 1, ahead[0], scratch.means[0])
            average(grid, h + 1, ahead[1], scratch.means[1])
        for s in range(S):
            sweep_state(model, grid, h, s, ahead, here, actions, scratch)
