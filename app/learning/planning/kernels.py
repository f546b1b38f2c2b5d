"""The compiled loops of the fast planner; every array is plain and every loop single-threaded.

A grid point (h, s, g) stands for step h, state s and accumulated logit offset + g * delta. Row s of
a step's table covers the absolute indices ``low[h, s] .. high[h, s]`` and is stored from column
``index - base[h]``. Rows S.. are the *ended* columns that the model uses. Taking action a moves
the index by w / delta = k + theta: down to g + k with probability 1 - theta, up to g + k + 1 with
theta, so that a table read at the moved point is the linear interpolation of its two neighbours.

Reads outside a row's window happen only where saturation cut it (or from points that the model
cannot reach) and give the row's ``below`` and ``above`` values.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Contraction and reassociation cost a few ulps and buy vector instructions.
jit = numba.njit(cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")

CURVATURE = 1.0 / (6.0 * math.sqrt(3.0))  # the largest |mu''|
FAR = 1 << 40


class Model(NamedTuple):
    """The planning problem as arrays, its ended columns packed to the E that are in use."""

    start: Array  # (S,)
    indptr: Array  # (S*A + 1,)
    columns: Array  # (nnz,): below S a state, from S on an ended row
    probabilities: Array  # (nnz,)
    weights: Array  # (H, S, A)
    bonuses: Array  # (H, S, A)
    ended: Array  # (H + 1, E)
    offset: float


class Grid(NamedTuple):
    """Which points exist; ``offsets`` are where a row's actions lie in one flat array."""

    delta: float
    clip_low: int
    clip_high: int
    low: Array  # (H, S + E)
    high: Array  # (H, S + E)
    cut: Array  # (H, S + E): saturation took something off the top
    base: Array  # (H,): the lowest index of a step
    top: Array  # (H,): the highest
    offsets: Array  # (H, S)


@jit
def sigmoid(x: float) -> float:
    """The logistic function, without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@jit
def shift(weight: float, delta: float) -> tuple[int, float]:
    """How far an action moves the index: whole points, and the chance of one more."""
    # Far past the clips is the same as at the clips: keep the integers small.
    x = min(max(weight / delta, -1.0e9), 1.0e9)
    k = math.floor(x)
    return k, x - k


@jit
def find_windows(model: Model, grid: Grid) -> None:
    """Forward pass over every action: fill ``grid.low``, ``grid.high`` and ``grid.cut``."""
    H, S, A = model.weights.shape
    low, high = grid.low, grid.high
    low[:] = FAR
    high[:] = -FAR
    for s in range(S):
        if model.start[s] > 0.0:
            low[0, s] = 0
            high[0, s] = 0
    for h in range(H):
        _clip_windows(grid, h)
        if h == H - 1:
            break
        all_low, all_high = FAR, -FAR
        for s in range(S):
            if low[h, s] > high[h, s]:
                continue
            for a in range(A):
                k, theta = shift(model.weights[h, s, a], grid.delta)
                first = low[h, s] + k
                last = high[h, s] + k + (1 if theta > 0.0 else 0)
                row = s * A + a
                if model.indptr[row] == model.indptr[row + 1]:
                    all_low = min(all_low, first)
                    all_high = max(all_high, last)
                for i in range(model.indptr[row], model.indptr[row + 1]):
                    c = model.columns[i]
                    low[h + 1, c] = min(low[h + 1, c], first)
                    high[h + 1, c] = max(high[h + 1, c], last)
        for s in range(S):
            low[h + 1, s] = min(low[h + 1, s], all_low)
            high[h + 1, s] = max(high[h + 1, s], all_high)


@jit
def _clip_windows(grid: Grid, h: int) -> None:
    """Cut the windows of step h at saturation and give unreachable rows one point."""
    low, high = grid.low[h], grid.high[h]
    lowest, highest = FAR, -FAR
    for r in range(len(low)):
        if low[r] > high[r]:
            continue
        grid.cut[h, r] = high[r] > grid.clip_high
        low[r] = min(max(low[r], grid.clip_low), grid.clip_high)
        high[r] = max(min(high[r], grid.clip_high), grid.clip_low)
        lowest = min(lowest, low[r])
        highest = max(highest, high[r])
    grid.base[h] = lowest
    grid.top[h] = highest


@jit
def place_unreachable(grid: Grid) -> None:
    """Give rows that the model cannot reach one point: reality may reach them all the same."""
    for h in range(len(grid.base)):
        for r in range(grid.low.shape[1]):
            if grid.low[h, r] > grid.high[h, r]:
                grid.low[h, r] = (grid.base[h] + grid.top[h]) // 2
                grid.high[h, r] = grid.low[h, r]


@jit
def bonus_bounds(model: Model, most: Array, least: Array) -> None:
    """The largest and smallest sum of bonuses still to come, both (H + 1, S + E), given zeros."""
    H, S, A = model.bonuses.shape
    for h in range(H - 1, -1, -1):
        mean_most, mean_least = most[h + 1, :S].mean(), least[h + 1, :S].mean()
        for s in range(S):
            most[h, s], least[h, s] = -np.inf, np.inf
            for a in range(A):
                row = s * A + a
                up, down = 0.0, 0.0
                if model.indptr[row] == model.indptr[row + 1]:
                    up, down = mean_most, mean_least
                for i in range(model.indptr[row], model.indptr[row + 1]):
                    up += model.probabilities[i] * most[h + 1, model.columns[i]]
                    down += model.probabilities[i] * least[h + 1, model.columns[i]]
                most[h, s] = max(most[h, s], model.bonuses[h, s, a] + up)
                least[h, s] = min(least[h, s], model.bonuses[h, s, a] + down)


@jit
def add_row(
    out: Array,
    first: int,
    row: Array,
    low: int,
    high: int,
    base: int,
    scale: float,
    below: float,
    above: float,
) -> None:
    """Add ``scale`` times the row at the indices first, first + 1, ... to all of ``out``."""
    count = len(out)
    begin = min(max(low - first, 0), count)
    end = max(min(high - first + 1, count), begin)
    for j in range(begin):
        out[j] += scale * below
    source = row[first + begin - base : first + end - base]
    target = out[begin:end]
    for j in range(end - begin):
        target[j] += scale * source[j]
    for j in range(end, count):
        out[j] += scale * above


@jit
def average_row(grid: Grid, h: int, table: Array, below: Array, states: int, mean: Array) -> None:
    """The mean of the states' rows over the whole span of step h: what an unseen row leads to."""
    span = grid.top[h] - grid.base[h] + 1
    mean[:span] = 0.0
    for s in range(states):
        top = table[s, grid.high[h, s] - grid.base[h]]
        add_row(
            mean[:span],
            grid.base[h],
            table[s],
            grid.low[h, s],
            grid.high[h, s],
            grid.base[h],
            1.0 / states,
            below[s],
            top,
        )


@jit
def expect(
    model: Model, grid: Grid, h: int, row: int, table: Array, below: Array, mean: Array,
    first: int, out: Array,
) -> None:  # fmt: skip
    """The table of step h expected after (state, action) ``row``, at the indices first, ..."""
    base = grid.base[h]
    out[:] = 0.0
    if model.indptr[row] == model.indptr[row + 1]:
        span = grid.top[h] - base
        add_row(out, first, mean, base, grid.top[h], base, 1.0, mean[0], mean[span])
    for i in range(model.indptr[row], model.indptr[row + 1]):
        c = model.columns[i]
        low, high = grid.low[h, c], grid.high[h, c]
        above = table[c, high - base]
        add_row(out, first, table[c], low, high, base, model.probabilities[i], below[c], above)


@jit
def final_step(model: Model, grid: Grid, certify: bool, table: Array, actions: Array) -> None:
    """The last step, exact at the grid points."""
    H, S, A = model.weights.shape
    h = H - 1
    lift = CURVATURE * grid.delta**2 / 8.0 if certify else 0.0
    for s in range(S):
        low = grid.low[h, s]
        for g in range(low, grid.high[h, s] + 1):
            best, choice = -np.inf, 0
            for a in range(A):
                logit = model.offset + g * grid.delta + model.weights[h, s, a]
                value = sigmoid(logit) + model.bonuses[h, s, a]
                if value > best:
                    best, choice = value, a
            table[s, g - grid.base[h]] = best + lift
            actions[grid.offsets[h, s] + g - low] = choice


@jit
def close_table(
    model: Model, grid: Grid, h: int, certify: bool, most: Array, table: Array, below: Array
) -> None:
    """Make the states' values of step h readable: ended rows, cut tops, values below.

    Ended rows are exact, for nothing is left to decide. In a supersolution the top of a cut row
    is the most that can come, and below a row's window its lowest value bounds (the value grows
    with the logit).
    """
    S, E = model.weights.shape[1], model.ended.shape[1]
    lift = CURVATURE * grid.delta**2 / 8.0 if certify else 0.0
    base = grid.base[h]
    for e in range(E):
        row = table[S + e]
        for g in range(grid.low[h, S + e], grid.high[h, S + e] + 1):
            row[g - base] = sigmoid(model.offset + g * grid.delta + model.ended[h, e]) + lift
    for r in range(S + E):
        if certify and grid.cut[h, r]:
            table[r, grid.high[h, r] - base] = 1.0 + most[h, r]
        below[r] = table[r, grid.low[h, r] - base]


@jit
def improve(
    reads: Array, thetas: Array, bonuses: Array, certify: bool,
    values: Array, choices: Array, excess: Array,
) -> None:  # fmt: skip
    """Best action at neighbouring points of one state.

    ``reads[a, j]`` is the expected next table at the j-th point moved down, ``reads[a, j + 1]``
    moved up. With ``certify`` both ends of every cell are raised by the largest amount by which
    an action, linear but for one knot at 1 - theta, exceeds the chord of the maximum.
    """
    A, count = len(thetas), len(values)
    values[:] = -np.inf
    for a in range(A):
        theta, rest, bonus = thetas[a], 1.0 - thetas[a], bonuses[a]
        down, up = reads[a, :count], reads[a, 1 : count + 1]
        for j in range(count):
            q = rest * down[j] + theta * up[j] + bonus
            better = q > values[j]
            values[j] = q if better else values[j]
            choices[j] = a if better else choices[j]
    if not certify or count < 2:
        return
    excess[: count + 1] = 0.0
    cells, left, right = excess[1:count], values[: count - 1], values[1:]
    for a in range(A):
        theta, rest, bonus = thetas[a], 1.0 - thetas[a], bonuses[a]
        knots = reads[a, 1:count]
        for j in range(count - 1):
            over = knots[j] + bonus - theta * left[j] - rest * right[j]
            cells[j] = max(cells[j], over)
    for j in range(count):
        values[j] += max(excess[j], excess[j + 1])


@jit
def improve_state(
    model: Model, grid: Grid, h: int, s: int, reads: Array, thetas: Array, certify: bool,
    table: Array, actions: Array, choices: Array, excess: Array,
) -> None:  # fmt: skip
    """Write the values and actions of state s at step h."""
    first, count = grid.low[h, s], grid.high[h, s] - grid.low[h, s] + 1
    begin = first - grid.base[h]
    values = table[s, begin : begin + count]
    improve(reads, thetas, model.bonuses[h, s], certify, values, choices, excess)
    place = grid.offsets[h, s]
    actions[place : place + count] = choices[:count]


@jit
def sweep(
    model: Model, grid: Grid, certify: bool, most: Array, actions: Array, tables: Array
) -> None:
    """Backward pass over sparse rows: ``actions`` and, in ``tables[0]``, the first step's values.

    With ``certify`` the tables are a supersolution: they bound the optimum from above.
    """
    H, S, A = model.weights.shape
    span = tables.shape[2]
    reads, excess = np.empty((A, span + 1)), np.empty(span + 1)
    mean, below = np.empty(span), np.empty(tables.shape[1])
    choices, thetas = np.empty(span, dtype=np.int64), np.empty(A)
    final_step(model, grid, certify, tables[(H - 1) % 2], actions)
    for h in range(H - 2, -1, -1):
        ahead, here = tables[(h + 1) % 2], tables[h % 2]
        close_table(model, grid, h + 1, certify, most, ahead, below)
        average_row(grid, h + 1, ahead, below, S, mean)
        for s in range(S):
            first, count = grid.low[h, s], grid.high[h, s] - grid.low[h, s] + 1
            for a in range(A):
                k, thetas[a] = shift(model.weights[h, s, a], grid.delta)
                out = reads[a, : count + 1]
                expect(model, grid, h + 1, s * A + a, ahead, below, mean, first + k, out)
            improve_state(model, grid, h, s, reads, thetas, certify, here, actions, choices, excess)


@jit
def final_law(
    model: Model, grid: Grid, actions: Array, values: Array, slopes: Array, losses: Array
) -> None:
    """The controller's last step: value, mu' of the final logit, and no loss yet."""
    H, S, _ = model.weights.shape
    h = H - 1
    for s in range(S):
        low = grid.low[h, s]
        for g in range(low, grid.high[h, s] + 1):
            a = actions[grid.offsets[h, s] + g - low]
            mu = sigmoid(model.offset + g * grid.delta + model.weights[h, s, a])
            values[s, g - grid.base[h]] = mu + model.bonuses[h, s, a]
            slopes[s, g - grid.base[h]] = mu * (1.0 - mu)
            losses[s, g - grid.base[h]] = 0.0


@jit
def ended_law(
    model: Model, grid: Grid, h: int, values: Array, slopes: Array, losses: Array
) -> None:
    """The same for the ended rows of step h."""
    S = model.weights.shape[1]
    for e in range(model.ended.shape[1]):
        for g in range(grid.low[h, S + e], grid.high[h, S + e] + 1):
            mu = sigmoid(model.offset + g * grid.delta + model.ended[h, e])
            values[S + e, g - grid.base[h]] = mu
            slopes[S + e, g - grid.base[h]] = mu * (1.0 - mu)
            losses[S + e, g - grid.base[h]] = 0.0


@jit
def follow(
    theta: float, bonus: float, delta: float, reads: Array,
    values: Array, slopes: Array, losses: Array,
) -> None:  # fmt: skip
    """One step of the controller's law at neighbouring points that take the same action.

    ``reads`` holds the expected next (value, slope, loss) rows. The loss of rounding here is
    theta (1 - theta) [delta (slope up - slope down) + CURVATURE / 2 delta^2].
    """
    rest = 1.0 - theta
    spread = theta * rest * delta
    for j in range(len(values)):
        down, up = reads[1, j], reads[1, j + 1]
        values[j] = rest * reads[0, j] + theta * reads[0, j + 1] + bonus
        slopes[j] = rest * down + theta * up
        loss = rest * reads[2, j] + theta * reads[2, j + 1]
        losses[j] = loss + spread * (up - down + 0.5 * CURVATURE * delta)


@jit
def evaluate(model: Model, grid: Grid, least: Array, actions: Array, tables: Array) -> None:
    """The controller's own law: in ``tables[0]`` its (value, slope, loss) rows of the first step.

    ``tables`` is (2, 3, S + E, span). An index that falls below a cut window is worth no more
    than the least bonuses to come: so the values bound what the controller gets from below.
    """
    H, S, A = model.weights.shape
    rows, span = tables.shape[2], tables.shape[3]
    reads, means = np.empty((3, span + 1)), np.empty((3, span))
    nothing = np.zeros(rows)
    last = tables[(H - 1) % 2]
    final_law(model, grid, actions, last[0], last[1], last[2])
    for h in range(H - 2, -1, -1):
        ahead, here = tables[(h + 1) % 2], tables[h % 2]
        ended_law(model, grid, h + 1, ahead[0], ahead[1], ahead[2])
        for q in range(3):
            below = least[h + 1] if q == 0 else nothing
            average_row(grid, h + 1, ahead[q], below, S, means[q])
        for s in range(S):
            low, count = grid.low[h, s], grid.high[h, s] - grid.low[h, s] + 1
            chosen = actions[grid.offsets[h, s] : grid.offsets[h, s] + count]
            begin = 0
            while begin < count:
                a, end = chosen[begin], begin + 1
                while end < count and chosen[end] == a:
                    end += 1
                k, theta = shift(model.weights[h, s, a], grid.delta)
                for q in range(3):
                    below = least[h + 1] if q == 0 else nothing
                    out = reads[q, : end - begin + 1]
                    first = low + begin + k
                    expect(model, grid, h + 1, s * A + a, ahead[q], below, means[q], first, out)
                left, right = low - grid.base[h] + begin, low - grid.base[h] + end
                follow(
                    theta,
                    model.bonuses[h, s, a],
                    grid.delta,
                    reads,
                    here[0, s, left:right],
                    here[1, s, left:right],
                    here[2, s, left:right],
                )
                begin = end
