"""The points of the fast planner: step, state, and a multiple of delta for the accumulated logit.

A point (h, s, g) stands for the logit offset + g * delta. Taking action a moves the index by
w / delta = k + theta: down to g + k with probability 1 - theta, up to g + k + 1 with theta, so
that a table read at the moved point is the linear interpolation of its two neighbours. Rows
0..S-1 are the states, then come the E ended columns that the model uses, then the mean of the
states' rows, which is what an unseen (state, action) leads to.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import uint64

from app.errors import BudgetExceeded
from app.planning.compiled import Array, jit
from app.planning.problem import PlanBudget, PlanningProblem
from app.planning.rows import LARGEST_LOGIT, shift

FAR = 1 << 40
LOWER = "lower the horizon, the number of states or actions, or raise epsilon"


class Model(NamedTuple):
    """The planning problem as arrays, its ended columns packed to the E that are in use."""

    start: Array  # (S,)
    indptr: Array  # (S*A + 1,)
    columns: Array  # (nnz,): below S a state, from S on an ended row
    probabilities: Array  # (nnz,)
    anywhere: Array  # (S*A,): the row may lead to every state
    weights: Array  # (H, S, A)
    bonuses: Array  # (H, S, A)
    ended: Array  # (H + 1, E)
    offset: float


class Grid(NamedTuple):
    """The grid points; ``offsets`` says where a row's actions begin in one flat array."""

    delta: float
    clip_low: int
    clip_high: int
    low: Array  # (H, S + E + 1)
    high: Array  # (H, S + E + 1)
    cut: Array  # (H, S + E + 1): whether the window was clipped at the top
    offsets: Array  # (H, S)
    decays: Array  # exp(-logit) of every index from clip_low to clip_high
    span: int  # the longest row
    cells: int
    bytes: int


def pack(problem: PlanningProblem) -> Model:
    """The problem as the kernels take it, with only the ended columns that are in use."""
    S, table = problem.states, problem.transitions
    used = np.unique(table.columns[table.columns >= S])
    place = np.arange(2 * S + 1)
    place[used] = S + np.arange(len(used))
    columns = place[table.columns]
    lengths = np.diff(table.indptr)
    # A row with S entries counts as reaching every state. That can only widen windows, and dense
    # models skip most of the forward pass.
    ends = np.zeros(len(lengths), dtype=np.bool_)
    ends[np.repeat(np.arange(len(lengths)), lengths)[columns >= S]] = True
    return Model(
        start=problem.start,
        indptr=table.indptr,
        columns=columns,
        probabilities=table.probabilities,
        anywhere=(lengths == 0) | ((lengths >= S) & ~ends),
        weights=np.ascontiguousarray(problem.weights),
        bonuses=np.ascontiguousarray(problem.bonuses),
        ended=np.ascontiguousarray(problem.ended_weights[:, used - S]),
        offset=float(problem.offset),
    )


def make_grid(model: Model, delta: float, saturation: float, budget: PlanBudget) -> Grid:
    """Compute the windows of every row; raises `BudgetExceeded` if the plan would be too large."""
    H, S, A = model.weights.shape
    rows = S + model.ended.shape[1] + 1
    reach = min(saturation, LARGEST_LOGIT)
    clip_low = min(0, math.floor((-reach - model.offset) / delta))
    clip_high = max(0, math.ceil((reach - model.offset) / delta))
    fixed = 8.0 * (5 * H * rows + 3 * H * S * A + clip_high - clip_low)
    if fixed > budget.bytes:
        raise BudgetExceeded("plan: bytes", fixed, budget.bytes, LOWER)
    low, high = np.empty((2, H, rows), dtype=np.int64)
    cut = np.zeros((H, rows), dtype=np.bool_)
    find_windows(model, delta, clip_low, clip_high, low, high, cut)
    sizes = (high - low + 1)[:, :S]
    cells, span = int(sizes.sum()), int((high[:, -1] - low[:, -1]).max()) + 1
    size = cells * (1 if A <= 256 else 2) + 8 * (8 * rows * span) + int(fixed)
    if cells > budget.cells:
        raise BudgetExceeded("plan: grid points", cells, budget.cells, LOWER)
    if size > budget.bytes:
        raise BudgetExceeded("plan: bytes", size, budget.bytes, LOWER)
    offsets = np.concatenate([[0], np.cumsum(sizes.ravel())[:-1]]).reshape(H, S)
    logits = model.offset + delta * np.arange(clip_low, clip_high + 1)
    decays = np.exp(-np.clip(logits, -2 * LARGEST_LOGIT, 2 * LARGEST_LOGIT))
    return Grid(delta, clip_low, clip_high, low, high, cut, offsets, decays, span, cells, size)


@jit
def find_windows(
    model: Model, delta: float, clip_low: int, clip_high: int, low: Array, high: Array, cut: Array
) -> None:
    """Forward pass over every action: the indices that each row can have at each step."""
    H, S, _ = model.weights.shape
    low[:] = FAR
    high[:] = -FAR
    for s in range(S):
        if model.start[s] > 0.0:
            low[0, s] = 0
            high[0, s] = 0
    for h in range(H):
        for r in range(low.shape[1] - 1):
            if low[h, r] <= high[h, r]:
                cut[h, r] = high[h, r] > clip_high
                low[h, r] = min(max(low[h, r], clip_low), clip_high)
                high[h, r] = max(min(high[h, r], clip_high), clip_low)
        if h < H - 1:
            _reach(model, delta, h, low[h], high[h], low[h + 1], high[h + 1])
        _close(low[h], high[h])


@jit
def _reach(
    model: Model, delta: float, h: int, low: Array, high: Array, next_low: Array, next_high: Array
) -> None:
    """Widen the windows of step h + 1 to what step h can lead to."""
    _, S, A = model.weights.shape
    indptr, columns = model.indptr, model.columns
    all_low, all_high = FAR, -FAR
    for s in range(S):
        if low[s] > high[s]:
            continue
        for a in range(A):
            k, theta = shift(model.weights[h, s, a], delta)
            first = low[s] + k
            last = high[s] + k + (1 if theta > 0.0 else 0)
            row = s * A + a
            if model.anywhere[row]:
                all_low = min(all_low, first)
                all_high = max(all_high, last)
                continue
            for i in range(uint64(indptr[row]), uint64(indptr[row + 1])):
                c = uint64(columns[i])
                next_low[c] = min(next_low[c], first)
                next_high[c] = max(next_high[c], last)
    for s in range(S):
        next_low[s] = min(next_low[s], all_low)
        next_high[s] = max(next_high[s], all_high)


@jit
def _close(low: Array, high: Array) -> None:
    """Set the mean row to span all others, and give each unreachable row one point.

    A row that is unreachable in the model may still be reached in the real environment, where the
    policy must act.
    """
    lowest, highest = FAR, -FAR
    for r in range(len(low) - 1):
        if low[r] <= high[r]:
            lowest = min(lowest, low[r])
            highest = max(highest, high[r])
    if lowest > highest:  # every episode has ended by now
        lowest, highest = 0, 0
    for r in range(len(low) - 1):
        if low[r] > high[r]:
            low[r] = (lowest + highest) // 2
            high[r] = low[r]
    low[len(low) - 1] = lowest
    high[len(low) - 1] = highest


@jit
def bonus_bounds(model: Model, most: Array, least: Array) -> None:
    """Fill zeros, (H + 1, S + E + 1) each, with the extreme sums of bonuses still to come."""
    H, S, A = model.bonuses.shape
    indptr, columns, probabilities = model.indptr, model.columns, model.probabilities
    mean = most.shape[1] - 1
    for h in range(H - 1, -1, -1):
        next_most, next_least = most[h + 1], least[h + 1]
        for s in range(S):
            highest, lowest = -np.inf, np.inf
            for a in range(A):
                row = s * A + a
                up = down = model.bonuses[h, s, a]
                if indptr[row] == indptr[row + 1]:
                    up += next_most[mean]
                    down += next_least[mean]
                for i in range(uint64(indptr[row]), uint64(indptr[row + 1])):
                    c = uint64(columns[i])
                    up += probabilities[i] * next_most[c]
                    down += probabilities[i] * next_least[c]
                highest, lowest = max(highest, up), min(lowest, down)
            most[h, s] = highest
            least[h, s] = lowest
            most[h, mean] += highest / S
            least[h, mean] += lowest / S
