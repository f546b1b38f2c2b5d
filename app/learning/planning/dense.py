"""The fast planner's sweeps for models whose rows are mostly full: a matrix product per step."""

from __future__ import annotations

import numpy as np

from app.learning.planning import kernels
from app.learning.planning.kernels import Array, Grid, Model, jit
from app.learning.planning.problem import Floats

DENSITY = 0.25  # of non-zeros, from which a matrix product is faster than sparse rows
MAX_BYTES = 1e9


def worthwhile(model: Model) -> bool:
    """Whether the model is dense enough, and its matrix small enough, for matrix products."""
    rows, width = len(model.indptr) - 1, model.weights.shape[1] + model.ended.shape[1]
    size = rows * int(width)
    return len(model.columns) > DENSITY * size and 8.0 * size < MAX_BYTES


def matrix(model: Model) -> Floats:
    """The transition matrix, shape (S*A, S + E), unseen rows filled in."""
    S, rows = model.weights.shape[1], len(model.indptr) - 1
    full = np.zeros((rows, S + model.ended.shape[1]))
    counts = np.diff(model.indptr)
    np.add.at(full, (np.repeat(np.arange(rows), counts), model.columns), model.probabilities)
    full[counts == 0, :S] = 1.0 / S
    return full


@jit
def _extend(grid: Grid, h: int, table: Array, below: Array) -> None:
    """Fill the rows of step h over the step's whole span, so that a product can read them."""
    base, span = grid.base[h], grid.top[h] - grid.base[h] + 1
    for r in range(grid.low.shape[1]):
        first, last = grid.low[h, r] - base, grid.high[h, r] - base
        table[r, :first] = below[r]
        table[r, last + 1 : span] = table[r, last]


@jit
def _improve_step(
    model: Model, grid: Grid, h: int, products: Array, certify: bool, table: Array, actions: Array
) -> None:
    """Best actions of step h from the expected rows of step h + 1, shape (S*A, span)."""
    _, S, A = model.weights.shape
    span = table.shape[1]
    reads, excess = np.empty((A, span + 1)), np.empty(span + 1)
    choices, thetas = np.empty(span, dtype=np.int64), np.empty(A)
    base, top = grid.base[h + 1], grid.top[h + 1]
    for s in range(S):
        first, count = grid.low[h, s], grid.high[h, s] - grid.low[h, s] + 1
        for a in range(A):
            k, thetas[a] = kernels.shift(model.weights[h, s, a], grid.delta)
            line, row = reads[a, : count + 1], products[s * A + a]
            line[:] = 0.0
            kernels.add_row(line, first + k, row, base, top, base, 1.0, row[0], row[top - base])
        kernels.improve_state(
            model, grid, h, s, reads, thetas, certify, table, actions, choices, excess
        )


def sweep(
    full: Floats, model: Model, grid: Grid, certify: bool, most: Array, actions: Array,
    tables: Floats,
) -> None:  # fmt: skip
    """The same as `kernels.sweep`."""
    H = len(model.weights)
    below = np.empty(tables.shape[1])
    kernels.final_step(model, grid, certify, tables[(H - 1) % 2], actions)
    for h in range(H - 2, -1, -1):
        ahead = tables[(h + 1) % 2]
        kernels.close_table(model, grid, h + 1, certify, most, ahead, below)
        _extend(grid, h + 1, ahead, below)
        products = full @ ahead[:, : grid.top[h + 1] - grid.base[h + 1] + 1]
        _improve_step(model, grid, h, products, certify, tables[h % 2], actions)


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
    model: Model, grid: Grid, h: int, place: Array, products: Array, actions: Array, here: Array
) -> None:
    """The controller's law at step h from the expected laws of step h + 1, (3, rows, span)."""
    _, S, A = model.weights.shape
    reads = np.empty((3, here.shape[2] + 1))
    base, top = grid.base[h + 1], grid.top[h + 1]
    for s in range(S):
        low, count = grid.low[h, s], grid.high[h, s] - grid.low[h, s] + 1
        chosen = actions[grid.offsets[h, s] : grid.offsets[h, s] + count]
        begin = 0
        while begin < count:
            a, end = chosen[begin], begin + 1
            while end < count and chosen[end] == a:
                end += 1
            k, theta = kernels.shift(model.weights[h, s, a], grid.delta)
            for q in range(3):
                row = products[q, place[s * A + a]]
                out = reads[q, : end - begin + 1]
                out[:] = 0.0
                # Below the span the law is the same constant as just inside: see `evaluate`.
                first = low + begin + k
                kernels.add_row(out, first, row, base - 1, top, base - 1, 1.0, row[0], row[-1])
            left, right = low - grid.base[h] + begin, low - grid.base[h] + end
            kernels.follow(
                theta,
                model.bonuses[h, s, a],
                grid.delta,
                reads,
                here[0, s, left:right],
                here[1, s, left:right],
                here[2, s, left:right],
            )
            begin = end


def evaluate(
    full: Floats, model: Model, grid: Grid, least: Floats, actions: Array, tables: Floats
) -> None:
    """The same as `kernels.evaluate`."""
    H, rows = len(model.weights), tables.shape[2]
    nothing = np.zeros(rows)
    last = tables[(H - 1) % 2]
    kernels.final_law(model, grid, actions, last[0], last[1], last[2])
    used = np.empty(len(full), dtype=np.bool_)
    for h in range(H - 2, -1, -1):
        ahead = tables[(h + 1) % 2]
        kernels.ended_law(model, grid, h + 1, ahead[0], ahead[1], ahead[2])
        _used_rows(model, grid, h, actions, used)
        span = int(grid.top[h + 1] - grid.base[h + 1]) + 1
        taken = full[used]
        # One more column on the left holds what lies below every window of the step.
        products = np.empty((3, len(taken), span + 1))
        for q in range(3):
            below = least[h + 1] if q == 0 else nothing
            _extend(grid, h + 1, ahead[q], below)
            products[q, :, 0] = taken @ below
            products[q, :, 1:] = taken @ ahead[q, :, :span]
        place = np.cumsum(used) - 1
        _follow_step(model, grid, h, place, products, actions, tables[h % 2])
