"""The grid of the reward-space planner: step, state, accumulated logit, accumulated width.

A point (h, s, g, j) stands for alpha = offset + g * delta_a, the logit so far, and
beta = j * delta_b, the widths so far, clipped at 1 = top * delta_b (above 1 they change nothing).
Action a moves g by w / delta_a = k + theta: to g + k + 1 with probability theta, to g + k
otherwise; and j likewise by v / delta_b, but straight to ``top`` when it would reach it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.learning.arrays import Floats
from app.planning.compiled import Array, jit
from app.planning.problem import PlanningProblem

FAR = 1 << 40
_SNAP = 1e-11  # a fraction this near to a point is the point


class RewardModel(NamedTuple):
    """The planning problem as arrays."""

    start: Array  # (S,)
    indptr: Array  # (S*A + 1,)
    columns: Array  # (nnz,): a state below S, ended in e at S + e
    probabilities: Array  # (nnz,)
    weights: Array  # (H, S, A)
    widths: Array  # (H, S, A)
    bonuses: Array  # (H, S, A)
    ended_weights: Array  # (H + 1, S + 1)
    ended_widths: Array  # (H + 1, S + 1)
    offset: float


class RewardGrid(NamedTuple):
    """The grid points, and how actions move between them."""

    delta_a: float
    delta_b: float
    top: int
    steps_a: Array  # (H, S, A): k of the logit
    thetas_a: Array  # (H, S, A)
    steps_b: Array  # (H, S, A): k of the widths
    thetas_b: Array  # (H, S, A)
    low_a: Array  # (H, S + 1): the windows; column S is what unseen rows read
    high_a: Array  # (H, S + 1)
    low_b: Array  # (H, S + 1)
    high_b: Array  # (H, S + 1)
    offsets: Array  # (H, S): where the points of (h, s) begin
    layers: Array  # (H + 1,): where the points of a step begin


def pack(problem: PlanningProblem) -> RewardModel:
    """The problem as the kernels take it; without widths they are zero."""
    widths, ended_widths = problem.widths, problem.ended_widths
    if widths is None or ended_widths is None:
        widths, ended_widths = np.zeros_like(problem.weights), np.zeros_like(problem.ended_weights)
    return RewardModel(
        start=problem.start,
        indptr=problem.transitions.indptr,
        columns=problem.transitions.columns,
        probabilities=problem.transitions.probabilities,
        weights=np.ascontiguousarray(problem.weights),
        widths=np.ascontiguousarray(widths),
        bonuses=np.ascontiguousarray(problem.bonuses),
        ended_weights=np.ascontiguousarray(problem.ended_weights),
        ended_widths=np.ascontiguousarray(ended_widths),
        offset=float(problem.offset),
    )


def make_grid(model: RewardModel, delta_a: float, top: int) -> RewardGrid:
    """The grid of width delta_a by 1 / top."""
    H, S, _ = model.weights.shape
    steps_a, thetas_a = _split(model.weights / delta_a)
    steps_b, thetas_b = _split(np.minimum(model.widths, 1.0) * top)
    windows = [np.empty((H, S + 1), dtype=np.int64) for _ in range(4)]
    low_a, high_a, low_b, high_b = windows
    find_windows(model, steps_a, thetas_a > 0, low_a, high_a, FAR)
    find_windows(model, steps_b, thetas_b > 0, low_b, high_b, top)
    sizes = ((high_a - low_a + 1) * (high_b - low_b + 1))[:, :S]
    ends = np.cumsum(sizes.ravel()).reshape(H, S)
    return RewardGrid(
        delta_a=delta_a,
        delta_b=1.0 / top,
        top=top,
        steps_a=steps_a,
        thetas_a=thetas_a,
        steps_b=steps_b,
        thetas_b=thetas_b,
        low_a=low_a,
        high_a=high_a,
        low_b=low_b,
        high_b=high_b,
        offsets=ends - sizes,
        layers=np.concatenate([[0], ends[:, -1]]),
    )


def _split(moves: Floats) -> tuple[Array, Array]:
    """Split moves into whole grid points and the probability of one more."""
    nearest = np.rint(moves)
    moves = np.where(np.abs(moves - nearest) < _SNAP, nearest, moves)
    whole = np.floor(moves)
    return whole.astype(np.int64), moves - whole


@jit
def find_windows(
    model: RewardModel, steps: Array, partial: Array, low: Array, high: Array, top: int
) -> None:
    """Forward pass over every action: the lowest and highest index of every (h, s).

    Column S gets the indices that unseen rows lead to, which every state of the step then has.
    States that the model cannot reach get one point, because the real environment may reach them.
    """
    H, S, A = steps.shape
    low[:], high[:] = FAR, -FAR
    for s in range(S):
        if model.start[s] > 0.0:
            low[0, s], high[0, s] = 0, 0
    for h in range(H - 1):
        for s in range(S):
            if low[h, s] > high[h, s]:
                continue
            for a in range(A):
                first = min(low[h, s] + steps[h, s, a], top)
                last = min(high[h, s] + steps[h, s, a] + partial[h, s, a], top)
                row = s * A + a
                if model.indptr[row] == model.indptr[row + 1]:
                    low[h + 1, S] = min(low[h + 1, S], first)
                    high[h + 1, S] = max(high[h + 1, S], last)
                for i in range(model.indptr[row], model.indptr[row + 1]):
                    c = model.columns[i]
                    if c < S and model.probabilities[i] > 0.0:
                        low[h + 1, c] = min(low[h + 1, c], first)
                        high[h + 1, c] = max(high[h + 1, c], last)
        for s in range(S):
            low[h + 1, s] = min(low[h + 1, s], low[h + 1, S])
            high[h + 1, s] = max(high[h + 1, s], high[h + 1, S])
    for h in range(H):
        lowest, highest = FAR, -FAR
        for s in range(S + 1):
            lowest, highest = min(lowest, low[h, s]), max(highest, high[h, s])
        middle = 0 if lowest > highest else (lowest + highest) // 2
        for s in range(S + 1):
            if low[h, s] > high[h, s]:
                low[h, s], high[h, s] = middle, middle
