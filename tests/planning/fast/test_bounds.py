"""The certificate of the fast planner against enumeration, on more than a thousand problems."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.errors import BudgetExceeded, InvalidValue
from app.learning.world.model import TransitionModel
from app.planning.fast import dense
from app.planning.fast.planner import plan_fast
from app.planning.problem import Plan, PlanBudget, PlanningProblem
from benchmarks.exact import plan_exact
from benchmarks.policy_value import policy_value
from tests.planning.instances import LOGITS, random_problem

SLACK = 1e-9
CURVATURE = 1.0 / (6.0 * math.sqrt(3.0))
EPSILONS = (0.9, 0.3, 0.05, 0.01)


def mu(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def check(problem: PlanningProblem, plan: Plan) -> tuple[float, float]:
    """The bounds against enumeration; gives the best value and the controller's."""
    best = plan_exact(problem).value
    value = policy_value(problem, plan.policy)
    assert plan.lower <= value + SLACK
    assert value <= best + SLACK
    assert best <= plan.upper + SLACK
    assert plan.lower <= plan.value <= plan.upper
    assert best - value <= plan.gap + SLACK
    return best, value


@pytest.mark.parametrize("products", [True, False], ids=["dense", "sparse"])
@pytest.mark.parametrize("first", range(0, 700, 100))
def test_the_bounds_hold(first: int, products: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrix products and sparse rows are different code: each plans its own problems."""
    monkeypatch.setattr(dense, "DENSITY", -1.0 if products else 2.0)
    for seed in range(first, first + 100):
        problem = random_problem(seed + (0 if products else 10_000))
        epsilon = EPSILONS[seed % 4]
        plan = plan_fast(problem, epsilon)
        check(problem, plan)
        assert plan.gap <= epsilon


@pytest.mark.parametrize("logits", LOGITS)
def test_the_bounds_hold_without_a_certificate_too(logits: str) -> None:
    for seed in range(20):
        problem = random_problem(seed, logits=logits)
        check(problem, plan_fast(problem, 0.3, certify=False))


def test_matrix_products_and_sparse_rows_give_the_same_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(100):
        problem = random_problem(seed)
        plans = []
        for density in (-1.0, 2.0):
            monkeypatch.setattr(dense, "DENSITY", density)
            plans.append(plan_fast(problem, 0.1))
        assert plans[0].upper == pytest.approx(plans[1].upper, abs=1e-9)
        assert plans[0].lower == pytest.approx(plans[1].lower, abs=1e-6)


def chain(
    weights: list[list[float]], bonuses: list[list[float]], stays: float = 1.0
) -> PlanningProblem:
    """One state; each step's actions have the given weights and bonuses."""
    table = np.array(weights)[:, None, :]
    H, _, A = table.shape
    return PlanningProblem(
        start=np.ones(1),
        transitions=TransitionModel.from_dense(np.array([[stays, 1.0 - stays, 0.0]] * A), 1, A),
        weights=table,
        bonuses=np.array(bonuses)[:, None, :],
        ended_weights=np.zeros((H + 1, 2)),
    )


def test_rounding_that_later_choices_depend_on_is_paid_for_at_first_order() -> None:
    """The choice at step 2 hangs on the rounding at step 1, so that the errors do not cancel.

    With w_1 = delta / 2 the tracked logit is 0 or delta. At delta the controller trusts the logit,
    which is only delta / 2; at 0 it takes the bonus, worth the same. So its grid promises
    (mu(delta) + mu(delta/2)) / 2 for a controller worth mu(delta/2): delta / 16 too much, where
    errors that cancel would cost at most CURVATURE delta^2 / 8.
    """
    delta = 1.0
    problem = chain([[delta / 2] * 2, [0.0, -30.0]], [[0.0, 0.0], [0.0, mu(delta / 2)]])
    plan = plan_fast(problem, 0.9)
    assert plan.policy.delta == delta
    best, value = check(problem, plan)
    assert value == pytest.approx(mu(delta / 2), abs=1e-6)
    assert best == pytest.approx(mu(delta / 2), abs=1e-6)
    promised = (mu(delta) + mu(delta / 2)) / 2
    assert promised - CURVATURE * delta**2 / 8 > value + 0.03  # so that would not be a bound


def test_every_episode_may_end_before_the_horizon() -> None:
    problem = chain([[0.5, -0.5]] * 5, [[0.0, 0.1]] * 5, stays=0.0)
    best, _ = check(problem, plan_fast(problem, 0.01))
    assert best == pytest.approx(max(mu(0.5), mu(-0.5) + 0.1), abs=1e-12)


@pytest.mark.parametrize("first", [-40.0, 40.0])
def test_a_logit_may_saturate_and_come_back(first: float) -> None:
    """Held at the edge of the grid, the logit would come back as far as 28 wrong."""
    problem = chain([[first], [-first]], [[0.0], [0.0]])
    plan = plan_fast(problem, 0.01)
    best, _ = check(problem, plan)
    assert best == pytest.approx(0.5)


def test_the_estimate_stays_between_bounds_that_come_from_different_grids() -> None:
    check(random_problem(32783), plan_fast(random_problem(32783), 0.001))


def test_a_first_grid_over_budget_is_refused() -> None:
    problem = chain([[0.3, -0.2]] * 10, [[0.0, 0.1]] * 10)
    assert plan_fast(problem, 0.01).cells > 10
    with pytest.raises(BudgetExceeded, match="grid points"):
        plan_fast(problem, 0.01, PlanBudget(cells=10))
    with pytest.raises(BudgetExceeded, match="bytes"):
        plan_fast(problem, 0.01, PlanBudget(bytes=100))


def test_a_budget_that_stops_refinement_gives_an_honest_gap() -> None:
    stopped = 0
    for seed in range(120):
        problem = random_problem(seed)
        first = plan_fast(problem, 0.0005, certify=False).cells
        plan = plan_fast(problem, 0.0005, PlanBudget(cells=first))
        stopped += plan.gap > 0.0005
        check(problem, plan)
    assert stopped > 10


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -0.1, math.nan])
def test_an_epsilon_out_of_range_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidValue, match="epsilon"):
        plan_fast(random_problem(1), epsilon)
