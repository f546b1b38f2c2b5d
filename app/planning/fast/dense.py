"""The fast planner's sweeps for models whose rows are mostly full: a matrix product per step."""

from __future__ import annotations

import numpy as np

from app.learning.arrays import Floats
from app.planning.compiled import Array, jit
from app.planning.fast.choices import choose, cover_knots
from app.planning.fast.grid import Grid, Model
from app.planning.fast.sweeps import Scratch, close_table, ended_law, final_law, final_step
from app.planning.rows import add_clamped, follow, run_end, shift

DENSITY = 0.25  # of non-zeros, from which a matrix product is faster than sparse rows
MAX_BYTES = 1e9


def worthwhile(model: Model) -> bool:
    """Whether the model is dense enough, and its matrix small enough, for matrix products."""
    size = (len(model.indptr) - 1) * int(model.weights.shape[1] + model.ended.shape[1])
    return len(model.columns) > DENSITY * size and 8.0 * size < MAX_BYTES


def size(model: Model, grid: Grid) -> int:
    """The memory of the matrix and its products in bytes, without that of the grid."""
    rows, span = len(model.indptr) - 1, grid.span + 1
    width = int(model.weights.shape[1] + model.ended.shape[1])
    # The matrix and its used rows, three products and one temporary, and the entries.
    return 8 * (rows * (2 * width + 4 * span) + 4 * len(model.columns))


def matrix(model: Model) -> Floats:
    """The transition matrix, shape (S*A, S + E), unseen rows filled in."""
    S, rows = model.weights.shape[1], len(model.indptr) - 1
    width = S + model.ended.shape[1]
    counts = np.diff(model.indptr)
    flat = np.repeat(np.arange(rows), counts) * width + model.columns
    full: Floats = np.zeros((rows, width))
    full.ravel()[:] = np.bincount(flat, weights=model.probabilities, minlength=rows * width)
    full[counts == 0, :S] = 1.0 / S
    return full


def bonus_bounds(full: Floats, model: Model, most: Floats, least: Floats) -> None:
    """The same as `grid.bonus_bounds`."""
    H, S, A = model.bonuses.shape
    width = full.shape[1]
    for h in range(H - 1, -1, -1):
        up = (full @ most[h + 1, :width]).reshape(S, A) + model.bonuses[h]
        down = (full @ least[h + 1, :width]).reshape(S, A) + model.bonuses[h]
        most[h, :S], least[h, :S] = up.max(axis=1), down.min(axis=1)


@jit
def _extend(grid: Grid, h: int, table: Array, below: Array) -> None:
    """Fill the rows of step h over the step's whole span, so that a product can read them."""
    low, high, span = grid.low[h], grid.high[h], grid.span
    base, count = low[-1], high[-1] - low[-1] + 1
    for r in range(len(low) - 1):
        first, last = r * span + low[r] - base, r * span + high[r] - base
        table[r * span : first] = below[r]
        table[last + 1 : r * span + count] = table[last]


@jit
def _improve_step(
    model: Model, grid: Grid, h: int, products: Array, table: Array, actions: Array,
    scratch: Scratch,
) -> None:  # fmt: skip
    """Best actions of step h from the expected rows of step h + 1, shape (S*A, count)."""
    _, S, A = model.weights.shape
    span, stride = grid.span, grid.span + 1
    reads, excess, thetas, _, _ = scratch
    base, top = grid.low[h + 1, -1], grid.high[h + 1, -1]
    width = products.shape[1]
    flat = products.reshape(S * A * width)
    for s in range(S):
        first, count = grid.low[h, s], grid.high[h, s] - grid.low[h, s] + 1
        for a in range(A):
            k, thetas[a] = shift(model.weights[h, s, a], grid.delta)
            start = (s * A + a) * width
            reads[a * stride : a * stride + count + 1] = 0.0
            add_clamped(
                reads, a * stride, count + 1, first + k, flat, start - base, base, top,
                1.0, flat[start], flat[start + top - base],
            )  # fmt: skip
        at, place = s * span + first - grid.low[h, -1], grid.offsets[h, s]
        bonuses = model.bonuses[h, s]
        choose(reads, stride, thetas, bonuses, table, at, count, actions, place)
        cover_knots(reads, stride, thetas, bonuses, table, at, count, excess)


def sweep(
    full: Floats, model: Model, grid: Grid, most: Array, actions: Array, tables: Floats,
    scratch: Scratch,
) -> None:  # fmt: skip
    """The same as `sweeps.sweep`."""
    H, width = len(model.weights), full.shape[1]
    below, buffer = scratch.below, np.empty(len(full) * grid.span)
    final_step(model, grid, tables[(H - 1) % 2], actions, scratch)
    for h in range(H - 2, -1, -1):
        ahead = tables[(h + 1) % 2]
        close_table(model, grid, h + 1, most, ahead, below)
        _extend(grid, h + 1, ahead, below)
        count = int(grid.high[h + 1, -1] - grid.low[h + 1, -1]) + 1
        # One buffer for all steps: fresh pages would cost as much as the product itself.
        products = buffer[: len(full) * count].reshape(len(full), count)
        np.matmul(full, ahead.reshape(width + 1, -1)[:width, :count], out=products)
        _improve_step(model, grid, h, products, tables[h % 2], actions, scratch)


@jit
def _used_rows(model: Model, grid: Grid, h: int, actions: Array, used: Array) -> None:
    """Mark the (state, action) rows that the controller takes anywhere at step h."""
    _, S, A = model.weights.shape
    used[:] = False
    for s in range(S):
        place, count = grid.offsets[h, s], grid.high[h, s] - grid.low[h, s] + 1
        for j in range(count):
            used[s * A + actions[place + j]] = True


@jit
def _follow_step(
    model: Model, grid: Grid, h: int, place: Array, products: Array, actions: Array, here: Array,
    scratch: Scratch,
) -> None:  # fmt: skip
    """The controller's law at step h from the expected laws of step h + 1, (3, rows, 1 + count).

    Column 0 of the products is what lies below every window of the step.
    """
    _, S, A = model.weights.shape
    span, stride = grid.span, grid.span + 1
    reads = scratch.reads
    base, top = grid.low[h + 1, -1] - 1, grid.high[h + 1, -1]
    width = products.shape[2]
    flat = products.reshape(products.size)
    for s in range(S):
        lowest, count = grid.low[h, s], grid.high[h, s] - grid.low[h, s] + 1
        begin, stop = grid.offsets[h, s], grid.offsets[h, s] + count
        while begin < stop:
            a, end = actions[begin], run_end(actions, begin, stop)
            k, theta = shift(model.weights[h, s, a], grid.delta)
            first, n = lowest + begin - grid.offsets[h, s], end - begin + 1
            for q in range(3):
                start = (q * products.shape[1] + place[s * A + a]) * width
                reads[q * stride : q * stride + n] = 0.0
                add_clamped(
                    reads, q * stride, n, first + k, flat, start - base, base, top,
                    1.0, flat[start], flat[start + width - 1],
                )  # fmt: skip
            at = s * span + first - grid.low[h, -1]
            follow(theta, model.bonuses[h, s, a], grid.delta, reads, stride, end - begin,
                   here[0], here[1], here[2], at)  # fmt: skip
            begin = end


def evaluate(
    full: Floats, model: Model, grid: Grid, least: Floats, actions: Array, laws: Floats,
    scratch: Scratch,
) -> None:  # fmt: skip
    """The same as `sweeps.evaluate`."""
    H, width = len(model.weights), full.shape[1]
    nothing, used = scratch.nothing, np.empty(len(full), dtype=np.bool_)
    final_law(model, grid, actions, laws[(H - 1) % 2])
    for h in range(H - 2, -1, -1):
        ahead = laws[(h + 1) % 2]
        ended_law(model, grid, h + 1, ahead)
        _used_rows(model, grid, h, actions, used)
        taken = full[used]
        count = int(grid.high[h + 1, -1] - grid.low[h + 1, -1]) + 1
        products = np.empty((3, len(taken), 1 + count))
        for q in range(3):
            below = least[h + 1] if q == 0 else nothing
            _extend(grid, h + 1, ahead[q], below)
            products[q, :, 0] = taken @ below[:width]
            products[q, :, 1:] = taken @ ahead[q].reshape(width + 1, -1)[:width, :count]
        place = np.cumsum(used) - 1
        _follow_step(model, grid, h, place, products, actions, laws[h % 2], scratch)
