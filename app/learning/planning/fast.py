"""The planner that serves: logit space, one accumulator on a grid, a certified gap.

Maximises E[mu(offset + sum_h w_h) + sum_h b_h] over history-dependent policies. The accumulated
logit lives on a grid of width delta, held within +-saturation; tables are linear between points.

Upper bound: the sweep keeps a piecewise-linear supersolution (`kernels.improve`). Lower bound: the
controller tracks the logit by stochastic rounding; with G its final grid logit, expanding mu at G,

    J >= E[mu(G)] - sum_h E[theta (1-theta) delta (M(up) - M(down))]
                  - CURVATURE / 2 sum_h E[theta (1-theta)] delta^2,    M = E[mu'(G) | point],

which one linear sweep under the controller computes (`kernels.evaluate`). Where saturation holds
the index at the top it only understates the logit, and mu grows; an index held at the bottom
counts as a failure.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import BudgetExceeded, InvalidValue
from app.learning.planning import dense, kernels
from app.learning.planning.grid_policy import GridPolicy
from app.learning.planning.kernels import CURVATURE, Grid, Model
from app.learning.planning.problem import Floats, Plan, PlanBudget, PlanningProblem

SATURATION = 12.0  # mu(-12) = 6e-6: logits past this rarely matter; widened where they do
ROUNDING = 1e-9  # what floating point may cost a bound
MAX_REFINEMENTS = 12
MAX_ACTIONS = 65535
_LOWER = "lower the horizon, the number of states or actions, or raise epsilon"


def plan_fast(
    problem: PlanningProblem,
    epsilon: float = 0.01,
    budget: PlanBudget | None = None,
    certify: bool = True,
) -> Plan:
    """Plan to a certified gap of at most ``epsilon``, or as near to it as the budget allows.

    Without ``certify`` one sweep on the first grid is all: the bounds are then the trivial ones.
    """
    if not 0.0 < epsilon < 1.0:
        raise InvalidValue("epsilon", "a number between 0 and 1")
    if problem.actions > MAX_ACTIONS:
        raise InvalidValue("actions", f"at most {MAX_ACTIONS}")
    began = time.perf_counter()
    search = _Search(problem, budget or PlanBudget())
    delta, saturation = first_width(epsilon, problem.horizon), SATURATION
    plan = search.plan(delta, saturation, certify, began)
    for _ in range(MAX_REFINEMENTS if certify else 0):
        if plan.gap <= epsilon:
            break
        delta *= min(max(0.8 * math.sqrt(epsilon / plan.gap), 0.25), 0.5)
        saturation *= 1.5
        try:
            finer = search.plan(delta, saturation, certify, began)
        except BudgetExceeded:
            break
        plan = _tightest(plan, finer)
    return plan


def first_width(epsilon: float, horizon: int) -> float:
    """The grid width at which rounding at every step costs about ``epsilon``."""
    return min(math.sqrt(6.0 * epsilon / (CURVATURE * max(horizon - 1, 1))), 1.0)


def _tightest(plan: Plan, finer: Plan) -> Plan:
    """The finer plan with the better upper bound of the two (both hold)."""
    upper = min(plan.upper, finer.upper)
    best = finer if finer.lower >= plan.lower else plan
    fields = {**best.__dict__, "upper": upper, "seconds": finer.seconds}
    return Plan(**fields)


@dataclass(frozen=True)
class _Search:
    """One problem, planned on finer and finer grids."""

    problem: PlanningProblem
    budget: PlanBudget

    def plan(self, delta: float, saturation: float, certify: bool, began: float) -> Plan:
        model = pack(self.problem)
        grid, cells, size = make_grid(model, delta, saturation, self.budget)
        S = self.problem.states
        rows, span = grid.low.shape[1], int((grid.top - grid.base).max()) + 1
        kind = np.uint8 if self.problem.actions <= 256 else np.uint16
        actions: NDArray[np.unsignedinteger[Any]] = np.zeros(cells, dtype=kind)
        H = self.problem.horizon
        most, least = np.zeros((H + 1, rows)), np.zeros((H + 1, rows))
        kernels.bonus_bounds(model, most, least)
        matrix = dense.matrix(model) if dense.worthwhile(model) else None
        tables = np.empty((2, rows, span))
        if matrix is None:
            kernels.sweep(model, grid, certify, most, actions, tables)
        else:
            dense.sweep(matrix, model, grid, certify, most, actions, tables)
        value = _at_start(model, grid, tables[0])
        ceiling = 1.0 + float(most[0, :S] @ model.start)
        floor = float(least[0, :S] @ model.start)
        upper, lower = ceiling, floor
        if certify:
            upper = min(value + ROUNDING, ceiling)
            laws = np.empty((2, 3, rows, span))
            if matrix is None:
                kernels.evaluate(model, grid, least, actions, laws)
            else:
                dense.evaluate(matrix, model, grid, least, actions, laws)
            value = _at_start(model, grid, laws[0, 0])
            lower = value - _at_start(model, grid, laws[0, 2]) - ROUNDING
            lower = max(min(lower, upper), floor)
            value = min(max(value, lower), upper)
        policy = GridPolicy(
            delta=delta,
            clip=(grid.clip_low, grid.clip_high),
            low=grid.low[:, :S].astype(np.int32),
            high=grid.high[:, :S].astype(np.int32),
            offsets=grid.offsets,
            actions=actions,
            weights=self.problem.weights,
        )
        seconds = time.perf_counter() - began
        return Plan("fast", policy, value, upper, lower, cells, size, seconds)


def pack(problem: PlanningProblem) -> Model:
    """The problem as the kernels take it, with only the ended columns that are in use."""
    S, table = problem.states, problem.transitions
    used = np.unique(table.columns[table.columns >= S])
    place = np.arange(2 * S + 1)
    place[used] = S + np.arange(len(used))
    return Model(
        start=problem.start,
        indptr=table.indptr,
        columns=place[table.columns],
        probabilities=table.probabilities,
        weights=np.ascontiguousarray(problem.weights),
        bonuses=np.ascontiguousarray(problem.bonuses),
        ended=np.ascontiguousarray(problem.ended_weights[:, used - S]),
        offset=float(problem.offset),
    )


def make_grid(
    model: Model, delta: float, saturation: float, budget: PlanBudget
) -> tuple[Grid, int, int]:
    """The windows of every row, the number of points and the bytes that planning will take."""
    H, S, A = model.weights.shape
    rows = S + model.ended.shape[1]
    grid = Grid(
        delta=delta,
        clip_low=min(0, math.floor((-saturation - model.offset) / delta)),
        clip_high=max(0, math.ceil((saturation - model.offset) / delta)),
        low=np.empty((H, rows), dtype=np.int64),
        high=np.empty((H, rows), dtype=np.int64),
        cut=np.zeros((H, rows), dtype=np.bool_),
        base=np.empty(H, dtype=np.int64),
        top=np.empty(H, dtype=np.int64),
        offsets=np.empty((H, S), dtype=np.int64),
    )
    kernels.find_windows(model, grid)
    kernels.place_unreachable(grid)
    sizes = (grid.high - grid.low + 1)[:, :S]
    cells = int(sizes.sum())
    span = int((grid.top - grid.base).max()) + 1
    size = cells * (1 if A <= 256 else 2) + 8 * (8 * rows * span + 5 * H * rows + H * S * A)
    if cells > budget.cells:
        raise BudgetExceeded("plan: grid points", cells, budget.cells, _LOWER)
    if size > budget.bytes:
        raise BudgetExceeded("plan: bytes", size, budget.bytes, _LOWER)
    grid.offsets.ravel()[:] = np.concatenate([[0], np.cumsum(sizes.ravel())[:-1]])
    return grid, cells, size


def _at_start(model: Model, grid: Grid, table: Floats) -> float:
    """The expectation of a first-step table over the first state."""
    where = np.flatnonzero(model.start)
    return float(model.start[where] @ table[where, -grid.base[0]])
