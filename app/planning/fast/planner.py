"""The fast planner: logit space, one accumulator on a grid, a certified gap.

Maximises E[mu(offset + sum_h w_h) + sum_h b_h] over history-dependent policies. The accumulated
logit lives on a grid of width delta, held within +-saturation; tables are linear between points.

Upper bound: the sweep keeps a piecewise-linear supersolution (`choices.cover_knots`). Lower bound:
the controller tracks the logit by stochastic rounding. With G its final grid logit and mu expanded
at G,

    J >= E[mu(G)] - sum_h E[theta (1-theta) delta (M(up) - M(down))]
                  - CURVATURE / 2 sum_h E[theta (1-theta)] delta^2,    M = E[mu'(G) | point],

which one linear sweep under the controller computes (`sweeps.evaluate`). An index clipped at the
top understates the logit, which is safe because mu grows; an index clipped at the bottom counts as
a failure.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import BudgetExceeded, InvalidValue
from app.learning.arrays import Floats
from app.planning.fast import dense, sweeps
from app.planning.fast.grid import bonus_bounds, make_grid, pack
from app.planning.policies.grid import GridPolicy
from app.planning.problem import Plan, PlanBudget, PlanningProblem
from app.planning.rows import CURVATURE, LARGEST_LOGIT

SATURATION = 12.0  # mu(-12) = 6e-6: larger logits rarely matter; it is doubled where they do
ROUNDING = 1e-9  # allowance for floating-point error in a bound
MAX_REFINEMENTS = 12
MAX_ACTIONS = 65535


def plan_fast(
    problem: PlanningProblem,
    epsilon: float = 0.01,
    budget: PlanBudget | None = None,
    certify: bool = True,
) -> Plan:
    """Plan to a certified gap of at most ``epsilon``, or as near to it as the budget allows.

    Without ``certify`` one sweep on the first grid is all. The policy and the upper bound are the
    same as the certificate would start from; the lower bound is then the trivial one.
    """
    if not 0.0 < epsilon < 1.0:
        raise InvalidValue("epsilon", "a number between 0 and 1")
    if problem.actions > MAX_ACTIONS:
        raise InvalidValue("actions", f"at most {MAX_ACTIONS}")
    began = time.perf_counter()
    budget = budget or PlanBudget()
    delta, saturation = first_width(epsilon, problem.horizon), SATURATION
    plan = _plan_on(problem, delta, saturation, certify, budget)
    for _ in range(MAX_REFINEMENTS if certify else 0):
        if plan.gap <= epsilon:
            break
        # Clipped logits alone may cause the gap: clip less before refining the grid.
        if saturation < LARGEST_LOGIT and _is_cut(plan):
            saturation *= 2.0
        else:
            delta *= min(max(0.8 * math.sqrt(epsilon / plan.gap), 0.25), 0.5)
        try:
            finer = _plan_on(problem, delta, saturation, certify, budget)
        except BudgetExceeded:
            break
        plan = _tightest(plan, finer)
    return replace(plan, seconds=time.perf_counter() - began)


def first_width(epsilon: float, horizon: int) -> float:
    """The grid width at which rounding at every step costs about ``epsilon``."""
    return min(math.sqrt(6.0 * epsilon / (CURVATURE * max(horizon - 1, 1))), 1.0)


def _is_cut(plan: Plan) -> bool:
    """Whether some row of the plan's grid goes as far as saturation allows."""
    policy = plan.policy
    assert isinstance(policy, GridPolicy)
    low, high = policy.clip
    return bool((policy.low <= low).any() or (policy.high >= high).any())


def _tightest(plan: Plan, finer: Plan) -> Plan:
    """The plan with the better lower bound, and the better upper bound of the two: both hold."""
    best = finer if finer.lower >= plan.lower else plan
    upper = min(plan.upper, finer.upper)
    return replace(best, upper=upper, value=min(best.value, upper))


def _plan_on(
    problem: PlanningProblem, delta: float, saturation: float, certify: bool, budget: PlanBudget
) -> Plan:
    """Plan on one grid."""
    began = time.perf_counter()
    model = pack(problem)
    grid = make_grid(model, delta, saturation, budget)
    kind = np.uint8 if problem.actions <= 256 else np.uint16
    actions: NDArray[np.unsignedinteger[Any]] = np.zeros(grid.cells, dtype=kind)
    S, rows = problem.states, grid.low.shape[1]
    most, least = np.zeros((2, problem.horizon + 1, rows))
    tables = np.empty((2, rows * grid.span))
    laws = np.empty((2, 3, rows * grid.span)) if certify else np.empty(0)
    scratch = sweeps.make_scratch(model, grid)
    size = grid.bytes + dense.size(model, grid)
    if dense.worthwhile(model) and size <= budget.bytes:
        full = dense.matrix(model)
        dense.bonus_bounds(full, model, most, least)
        dense.sweep(full, model, grid, most, actions, tables, scratch)
        if certify:
            dense.evaluate(full, model, grid, least, actions, laws, scratch)
    else:
        size = grid.bytes
        bonus_bounds(model, most, least)
        sweeps.sweep(model, grid, most, actions, tables, scratch)
        if certify:
            sweeps.evaluate(model, grid, least, actions, laws, scratch)

    def at_start(table: Floats) -> float:
        # At the first step every row is the one point 0.
        return float(problem.start @ table[np.arange(S) * grid.span])

    upper, lower = 1.0 + float(most[0, :S] @ problem.start), float(least[0, :S] @ problem.start)
    value = upper = min(upper, at_start(tables[0]) + ROUNDING)
    if certify:
        value = at_start(laws[0, 0])
        lower = max(min(value - at_start(laws[0, 2]) - ROUNDING, upper), lower)
    policy = GridPolicy(
        delta=delta,
        clip=(grid.clip_low, grid.clip_high),
        low=grid.low[:, :S].astype(np.int32),
        high=grid.high[:, :S].astype(np.int32),
        offsets=grid.offsets,
        actions=actions,
        weights=problem.weights,
    )
    seconds = time.perf_counter() - began
    value = min(max(value, lower), upper)
    return Plan("fast", policy, value, upper, lower, grid.cells, size, seconds)
