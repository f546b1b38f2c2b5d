"""The fast planner's backward passes over sparse rows, compiled as a whole, on one thread."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.planning.compiled import Array, as_integer, jit
from app.planning.fast.choices import choose, cover_knots
from app.planning.fast.grid import Grid, Model
from app.planning.rows import (
    CURVATURE,
    add_clamped,
    follow,
    gather,
    run_end,
    shift,
    sigmoid_row,
)


class Scratch(NamedTuple):
    """Work arrays of the kernels for one state; made once, since kernels allocate nothing."""

    reads: Array  # expected next tables, grid.span + 1 apart
    excess: Array
    thetas: Array  # (A,)
    below: Array  # (S + E + 1,): what is read below each row's window
    nothing: Array  # (S + E + 1,): zeros


def make_scratch(model: Model, grid: Grid) -> Scratch:
    """Allocate work arrays for the longest row of every action, or of the three tables of a law."""
    actions, rows = model.weights.shape[2], grid.low.shape[1]
    return Scratch(
        reads=np.empty(max(actions, 3) * (grid.span + 1)),
        excess=np.empty(grid.span + 1),
        thetas=np.empty(actions),
        below=np.empty(rows),
        nothing=np.zeros(rows),
    )


@jit
def final_step(model: Model, grid: Grid, table: Array, actions: Array, scratch: Scratch) -> None:
    """The last step: exact at the grid points, then raised by the error of a chord of mu."""
    H, S, A = model.weights.shape
    h, span, stride = H - 1, grid.span, grid.span + 1
    base = grid.low[h, -1]
    lift = CURVATURE * grid.delta**2 / 8.0
    # Nothing moves after the last action: thetas are 0, and the upper entry only has to be finite.
    reads, thetas = scratch.reads, scratch.thetas
    reads[:] = 0.0
    thetas[:] = 0.0
    for s in range(S):
        low, count = grid.low[h, s], grid.high[h, s] - grid.low[h, s] + 1
        for a in range(A):
            first = low - grid.clip_low
            sigmoid_row(reads, a * stride, grid.decays, first, count, model.weights[h, s, a])
        at, place = s * span + low - base, grid.offsets[h, s]
        choose(reads, stride, thetas, model.bonuses[h, s], table, at, count, actions, place)
        for j in range(count):
            table[at + j] += lift


@jit
def close_table(model: Model, grid: Grid, h: int, most: Array, table: Array, below: Array) -> None:
    """Complete the table of step h: ended rows, clipped tops, values below, and the mean row.

    Ended rows are exact, since no action is left. The top of a clipped row is the largest possible
    value. Below a row's window its lowest value is an upper bound: values grow with the logit.
    """
    S, E = model.weights.shape[1], model.ended.shape[1]
    lift = CURVATURE * grid.delta**2 / 8.0
    low, high, span = grid.low[h], grid.high[h], grid.span
    base = low[S + E]
    for e in range(E):
        r = S + e
        at, count = r * span + low[r] - base, high[r] - low[r] + 1
        sigmoid_row(table, at, grid.decays, low[r] - grid.clip_low, count, model.ended[h, e])
        for j in range(at, at + count):
            table[j] += lift
    for r in range(S + E):
        if grid.cut[h, r]:
            table[r * span + high[r] - base] = 1.0 + most[h, r]
        below[r] = table[r * span + low[r] - base]
    if has_unseen(model):
        average(grid, h, S, table, below)
        below[S + E] = table[(S + E) * span]


@jit
def has_unseen(model: Model) -> bool:
    """Whether any (state, action) was never seen, so that the mean row is needed."""
    unseen = False
    for row in range(len(model.indptr) - 1):
        unseen |= model.indptr[row] == model.indptr[row + 1]
    return unseen


@jit
def average(grid: Grid, h: int, states: int, table: Array, below: Array) -> None:
    """Fill the table's last row: the mean of the states' rows over the whole span of step h."""
    low, high, span = grid.low[h], grid.high[h], grid.span
    mean = len(low) - 1
    base, count = low[mean], high[mean] - low[mean] + 1
    at = mean * span
    table[at : at + count] = 0.0
    for s in range(states):
        start = s * span - base
        add_clamped(
            table, at, count, base, table, start, low[s], high[s],
            1.0 / states, below[s], table[start + high[s]],
        )  # fmt: skip


@jit
def sweep(
    model: Model, grid: Grid, most: Array, actions: Array, tables: Array, scratch: Scratch
) -> None:
    """Backward pass: ``actions`` and, in ``tables[0]``, the first step's values.

    The tables are a supersolution: between the points too they bound the optimum from above.
    """
    H, S, A = model.weights.shape
    span, stride = grid.span, grid.span + 1
    indptr, columns, probabilities = model.indptr, model.columns, model.probabilities
    reads, excess, thetas, below, _ = scratch
    final_step(model, grid, tables[(H - 1) % 2], actions, scratch)
    for h in range(H - 2, -1, -1):
        ahead, here = tables[(h + 1) % 2], tables[h % 2]
        close_table(model, grid, h + 1, most, ahead, below)
        low, high = grid.low[h + 1], grid.high[h + 1]
        own_low, own_high, places = grid.low[h], grid.high[h], grid.offsets[h]
        weights, extra = model.weights[h], model.bonuses[h]
        base, own_base = low[-1], own_low[-1]
        for s in range(S):
            first, count = own_low[s], own_high[s] - own_low[s] + 1
            for a in range(A):
                k, thetas[a] = shift(weights[s, a], grid.delta)
                row = s * A + a
                gather(
                    reads, a * stride, count + 1, first + k, indptr[row], indptr[row + 1],
                    columns, probabilities, ahead, span, base, low, high, below,
                )  # fmt: skip
            at = s * span + first - own_base
            bonuses = extra[s]
            choose(reads, stride, thetas, bonuses, here, at, count, actions, places[s])
            cover_knots(reads, stride, thetas, bonuses, here, at, count, excess)


@jit
def final_law(model: Model, grid: Grid, actions: Array, law: Array) -> None:
    """The controller's last step: value, mu' of the final logit, and no loss yet."""
    H, S, _ = model.weights.shape
    h, span = H - 1, grid.span
    base = grid.low[h, -1]
    for s in range(S):
        low, count = grid.low[h, s], grid.high[h, s] - grid.low[h, s] + 1
        begin, stop = grid.offsets[h, s], grid.offsets[h, s] + count
        while begin < stop:
            a, end = actions[begin], run_end(actions, begin, stop)
            first = low + begin - grid.offsets[h, s]
            at = s * span + first - base
            weight = model.weights[h, s, a]
            sigmoid_row(law[0], at, grid.decays, first - grid.clip_low, end - begin, weight)
            for j in range(at, at + end - begin):
                law[1, j] = law[0, j] * (1.0 - law[0, j])
                law[0, j] += model.bonuses[h, s, a]
                law[2, j] = 0.0
            begin = end


@jit
def ended_law(model: Model, grid: Grid, h: int, law: Array) -> None:
    """The same for the ended rows of step h."""
    S, span = model.weights.shape[1], grid.span
    base = grid.low[h, -1]
    for e in range(model.ended.shape[1]):
        low, count = grid.low[h, S + e], grid.high[h, S + e] - grid.low[h, S + e] + 1
        at = (S + e) * span + low - base
        first = low - grid.clip_low
        sigmoid_row(law[0], at, grid.decays, first, count, model.ended[h, e])
        for j in range(at, at + count):
            law[1, j] = law[0, j] * (1.0 - law[0, j])
            law[2, j] = 0.0


@jit
def evaluate(
    model: Model, grid: Grid, least: Array, actions: Array, laws: Array, scratch: Scratch
) -> None:
    """The controller's own law: in ``laws[0]`` its (value, slope, loss) tables of the first step.

    ``laws`` is (2, 3, rows * span). An index below a clipped window is valued at the least
    bonuses to come, so the values are lower bounds of what the controller gets.
    """
    H, S, A = model.weights.shape
    span, stride = grid.span, grid.span + 1
    indptr, columns, probabilities = model.indptr, model.columns, model.probabilities
    reads, nothing = scratch.reads, scratch.nothing
    final_law(model, grid, actions, laws[(H - 1) % 2])
    for h in range(H - 2, -1, -1):
        ahead, here = laws[(h + 1) % 2], laws[h % 2]
        ended_law(model, grid, h + 1, ahead)
        if has_unseen(model):
            for q in range(3):
                average(grid, h + 1, S, ahead[q], least[h + 1] if q == 0 else nothing)
        low, high = grid.low[h + 1], grid.high[h + 1]
        base, own_base = low[-1], grid.low[h, -1]
        values, slopes, losses, below = ahead[0], ahead[1], ahead[2], least[h + 1]
        for s in range(S):
            lowest, count = grid.low[h, s], grid.high[h, s] - grid.low[h, s] + 1
            place = grid.offsets[h, s]
            begin, stop = place, place + count
            while begin < stop:
                a, end = actions[begin], run_end(actions, begin, stop)
                k, theta = shift(model.weights[h, s, a], grid.delta)
                start = lowest + begin - place
                first, n, row = start + k, end - begin + 1, s * A + a
                left, right = indptr[row], indptr[row + 1]
                gather(reads, as_integer(0), n, first, left, right, columns, probabilities,
                       values, span, base, low, high, below)  # fmt: skip
                gather(reads, stride, n, first, left, right, columns, probabilities,
                       slopes, span, base, low, high, nothing)  # fmt: skip
                gather(reads, 2 * stride, n, first, left, right, columns, probabilities,
                       losses, span, base, low, high, nothing)  # fmt: skip
                at = s * span + start - own_base
                follow(theta, model.bonuses[h, s, a], grid.delta, reads, stride, end - begin,
                       here[0], here[1], here[2], at)  # fmt: skip
                begin = end
