"""The backward sweep on a net: values of centres, for one logit and on a grid of logits."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from app.learning.arrays import Floats, Integers
from app.planning.net.problem import NetProblem, NetValues

GRID = 25  # points of the accumulated logit
_LEAST_GRID = 5
NUMBERS = 1_000_000  # values on the grid that a policy should hold
_FAST = {"contract", "reassoc", "nsz", "arcp"}


class _Constants(NamedTuple):
    """The scalar constants of one step of the sweep."""

    left: float  # states that count from the next one on
    flag: float
    counts: float  # 1 where the present state counts
    tremble: float
    low: float  # of the grid
    width: float


def grid_size(late: int, centres: int) -> int:
    """How many grid points to use: fewer where many steps count, to bound the policy's size."""
    return int(min(max(NUMBERS // max(late * centres, 1), _LEAST_GRID), GRID))


def solve(problem: NetProblem) -> NetValues:
    """Plan backwards: V = (1 - tremble) max Q + tremble mean Q, acting by max Q."""
    H, K = problem.horizon, problem.model.centres
    turn = min(problem.first, H)
    grid = _grid(problem, H - turn)
    single = np.array([problem.offset])
    early = np.empty((turn + 1, K), dtype=np.float32)
    late = np.empty((H - turn, K, len(grid)), dtype=np.float32)
    value = _last(problem, grid)
    success = value.copy()
    for t in range(H, -1, -1):
        if t < H:
            value, success = _step(problem, t, grid if t > turn else single, grid, value, success)
        if t > turn:
            late[t - turn - 1] = value
        else:
            early[t] = value[:, 0]
    low, width = _axis(grid)
    return NetValues(early, late, low, width, value[:, 0], success[:, 0])


def _grid(problem: NetProblem, late: int) -> Floats:
    """Logits that cover all that can be gathered; the offset alone where nothing adds up."""
    if not problem.accumulates:
        return np.array([problem.offset])
    points = grid_size(late, problem.model.centres)
    most = late * max(float(problem.gains.max()), 1e-9)
    least = late * min(float(problem.gains.min()), -1e-9)
    return np.asarray(problem.offset + np.linspace(least, most, points), dtype=np.float64)


def _axis(grid: Floats) -> tuple[float, float]:
    """The first point and the distance of two points."""
    return float(grid[0]), float(grid[1] - grid[0]) if len(grid) > 1 else 1.0


def _last(problem: NetProblem, logits: Floats) -> Floats:
    """The values of the state H, shape (K, logits)."""
    gains = problem.gains if problem.first <= problem.horizon else 0.0 * problem.gains
    return np.asarray(1.0 / (1.0 + np.exp(-(logits[None, :] + gains[:, None]))))


def _step(
    problem: NetProblem, t: int, logits: Floats, grid: Floats, value: Floats, success: Floats
) -> tuple[Floats, Floats]:
    """Values before the action at ``t``, for these logits, from those after it."""
    model = problem.model
    left = max(problem.horizon + 1 - max(t + 1, problem.first), 0)
    counts = 1.0 if t >= problem.first else 0.0
    before = np.empty((model.centres, len(logits)))
    success_before = np.empty_like(before)
    _back_up(
        (model.columns, model.weights, model.ends),
        (problem.gains, problem.factors, problem.bonuses),
        _Constants(float(left), problem.flag, counts, problem.tremble, *_axis(grid)),
        logits,
        (value, success),
        (before, success_before),
    )
    return before, success_before


@numba.njit(cache=True, error_model="numpy", fastmath=_FAST)
def _back_up(
    model: tuple[Integers, Floats, Floats],
    scores: tuple[Floats, Floats, Floats],
    constants: _Constants,
    logits: Floats,
    after: tuple[Floats, Floats],
    before: tuple[Floats, Floats],
) -> None:
    """Fill the values and chances before an action in every centre and for every logit."""
    columns, weights, ends = model
    gains, factors, bonuses = scores
    row, chances = np.empty(after[0].shape[1]), np.empty(after[0].shape[1])
    best, mean, kept = np.empty(len(logits)), np.empty(len(logits)), np.empty(len(logits))
    for i in range(len(columns)):
        best[:] = -np.inf
        mean[:] = 0.0
        for a in range(columns.shape[1]):
            gain = _mix(columns[i, a], weights[i, a], gains, after, row, chances)
            for k in range(len(logits)):
                logit = logits[k] + constants.counts * gains[i]
                value, chance = _read(row, chances, logit, constants)
                if ends[i, a] > 0.0:
                    total = logit + constants.left * gain + constants.flag
                    over = ends[i, a] / (1.0 + np.exp(-total))
                    value = (1.0 - ends[i, a]) * value + over
                    chance = (1.0 - ends[i, a]) * chance + over
                value = value * factors[i, a] + bonuses[i, a]
                mean[k] += value / columns.shape[1]
                if value > best[k]:
                    best[k], kept[k] = value, chance
        for k in range(len(logits)):
            before[0][i, k] = best[k] + constants.tremble * (mean[k] - best[k])
            before[1][i, k] = kept[k]


@numba.njit(cache=True, error_model="numpy", fastmath=_FAST, inline="always")
def _mix(
    columns: Integers,
    weights: Floats,
    gains: Floats,
    after: tuple[Floats, Floats],
    row: Floats,
    chances: Floats,
) -> float:
    """Average the successors' values into ``row`` and ``chances``; returns their mean gain."""
    row[:] = 0.0
    chances[:] = 0.0
    gain = 0.0
    for j in range(len(columns)):
        weight, column = weights[j], columns[j]
        if weight > 0.0:
            gain += weight * gains[column]
            for g in range(len(row)):
                row[g] += weight * after[0][column, g]
                chances[g] += weight * after[1][column, g]
    return gain


@numba.njit(cache=True, error_model="numpy", fastmath=_FAST, inline="always")
def _read(row: Floats, chances: Floats, logit: float, constants: _Constants) -> tuple[float, float]:
    """Interpolate both on the grid at ``logit``."""
    points = len(row)
    if points == 1:
        return row[0], chances[0]
    place = min(max((logit - constants.low) / constants.width, 0.0), points - 1.0)
    floor = min(int(place), points - 2)
    share = place - floor
    value = row[floor] + share * (row[floor + 1] - row[floor])
    return value, chances[floor] + share * (chances[floor + 1] - chances[floor])
