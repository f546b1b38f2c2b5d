"""The planner of the paper's own objective: reward space, two accumulators, a certified gap.

Maximises E[min{mu(offset + sum_h w_h) + sum_h v_h, 1} + sum_h b_h] over history-dependent policies.
The sum of b is separable and needs no accumulator, so a point is (step, state, logit, widths), and
the sum of widths is clipped at 1, above which it changes nothing. Upper bound: a supersolution
(`kernels`, `ends`). Lower bound: the moments of the controller's rounding errors (`law`). Both
close at first order in the grid width near the kink, mu + beta = 1, and at second elsewhere.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from app.errors import BudgetExceeded, InvalidValue
from app.learning.arrays import Floats
from app.planning.policies.reward import RewardPolicy
from app.planning.problem import Plan, PlanBudget, PlanningProblem
from app.planning.reward import kernels, law
from app.planning.reward.grid import RewardGrid, RewardModel, make_grid, pack
from app.planning.rows import CURVATURE

MAX_ACTIONS = 65535
MAX_LOGIT = 1e6  # larger sums are mistakes, and overflow the integers of a fine grid
MAX_HALVINGS = 20
ROUNDING = 1e-9  # allowance for floating-point error in a bound
_FIRST_TOP = 8  # points from 0 to 1 on the first grid
_LOWER = "lower the horizon, the number of states or the weights, or use logit space"


def plan_reward(
    problem: PlanningProblem,
    epsilon: float = 0.01,
    budget: PlanBudget | None = None,
    refine: bool = True,
) -> Plan:
    """Plan to a certified gap of at most ``epsilon``, or as near to it as the budget allows.

    The grid is halved until the gap is small enough. When already the first grid is over budget
    the plan is refused; when a finer one is, the best plan so far is returned with its gap.
    Without ``refine`` the plan on the first grid is returned.
    """
    _check(problem, epsilon)
    began = time.perf_counter()
    top = _FIRST_TOP
    # A logit changes the reward at most a quarter as fast as a width does.
    second_order = math.sqrt(6.0 * epsilon / (CURVATURE * max(problem.horizon - 1, 1)))
    delta = min(4.0 / top, second_order)
    best = plan_on(problem, delta, top, budget)
    for _ in range(MAX_HALVINGS if refine else 0):
        if best.gap <= epsilon:
            break
        top, delta = 2 * top, delta / 2.0
        try:
            finer = plan_on(problem, delta, top, budget)
        except BudgetExceeded:
            break
        best = min(finer, best, key=lambda plan: plan.gap)
    return replace(best, seconds=time.perf_counter() - began)


def _check(problem: PlanningProblem, epsilon: float) -> None:
    if not 0.0 < epsilon < 1.0:
        raise InvalidValue("epsilon", "a number between 0 and 1")
    if problem.actions > MAX_ACTIONS:
        raise InvalidValue("actions", f"at most {MAX_ACTIONS}")
    logit = abs(problem.offset) + float(np.abs(problem.weights).max(axis=(1, 2)).sum())
    if logit > MAX_LOGIT:
        raise InvalidValue("weights", f"a sum within {MAX_LOGIT:g}")


def plan_on(
    problem: PlanningProblem, delta: float, top: int, budget: PlanBudget | None = None
) -> Plan:
    """Plan on one grid: points ``delta`` apart in the logit and 1 / ``top`` in the widths."""
    began = time.perf_counter()
    model = pack(problem)
    grid = make_grid(model, delta, top)
    _, S, A = model.weights.shape
    cells, size = _measure(grid, A, budget or PlanBudget())
    points = int(np.diff(grid.layers).max())
    actions = np.zeros(cells, dtype=np.uint8 if A <= 256 else np.uint16)
    tables = np.empty((2, 2, points))
    scratch = kernels.make_scratch(grid, actions.dtype)
    kernels.sweep(model, grid, scratch, actions, tables)
    upper = float(model.start @ tables[0, 1, grid.offsets[0]])
    upper = min(upper, 1.0 + _most_bonus(model)) + ROUNDING
    del tables, scratch  # the next pass has tables of its own
    laws = np.empty((2, points, law.MOMENTS))
    value, lower = law.follow(model, grid, actions, _drifts(grid), laws)
    value = min(value, upper)
    lower = min(lower, value) - ROUNDING
    policy = RewardPolicy(
        top=grid.top,
        steps_a=grid.steps_a,
        thetas_a=grid.thetas_a,
        steps_b=grid.steps_b,
        thetas_b=grid.thetas_b,
        low_a=grid.low_a[:, :S],
        high_a=grid.high_a[:, :S],
        low_b=grid.low_b[:, :S],
        high_b=grid.high_b[:, :S],
        offsets=grid.offsets,
        actions=actions,
    )
    seconds = time.perf_counter() - began
    return Plan("reward", policy, value, upper, lower, cells, size, seconds)


def _measure(grid: RewardGrid, A: int, budget: PlanBudget) -> tuple[int, int]:
    """Points and bytes of a plan; refuses over budget."""
    # In floating point: windows too large for any budget may be too large for integers.
    H, S = grid.offsets.shape
    na, nb = grid.high_a - grid.low_a + 1.0, grid.high_b - grid.low_b + 1.0
    sizes = (na * nb)[:, :S]
    cells, points = float(sizes.sum()), float(sizes.sum(axis=1).max())
    window = (float(na.max()) + 1.0) * (float(nb.max()) + 1.0)
    size = cells * (1 if A <= 256 else 2)
    size += 8.0 * (2 * law.MOMENTS * points + (3 * A + 4) * window + H * S * (4 * A + 5))
    if cells > budget.cells:
        raise BudgetExceeded("reward plan: grid points", cells, budget.cells, _LOWER)
    if size > budget.bytes:
        raise BudgetExceeded("reward plan: bytes", size, budget.bytes, _LOWER)
    return int(cells), int(size)


def _drifts(grid: RewardGrid) -> Floats:
    """The largest |xi| that rounding can have made before each step, shape (H,)."""
    thetas = grid.thetas_a
    jumps = np.where(thetas > 0.0, np.maximum(thetas, 1.0 - thetas), 0.0).max(axis=(1, 2))
    drifts: Floats = grid.delta_a * (np.cumsum(jumps) - jumps)
    return drifts


def _most_bonus(model: RewardModel) -> float:
    """The largest expected sum of bonuses."""
    H, S, A = model.bonuses.shape
    shape, unseen = (S * A, 2 * S + 1), np.diff(model.indptr) == 0
    table = csr_array((model.probabilities, model.columns, model.indptr), shape=shape)
    most = np.zeros(2 * S + 1)  # nothing is added after the end
    for h in range(H - 1, -1, -1):
        onward = table @ most + unseen * most[:S].mean()
        most[:S] = (model.bonuses[h] + onward.reshape(S, A)).max(axis=1)
    return float(model.start @ most[:S])
