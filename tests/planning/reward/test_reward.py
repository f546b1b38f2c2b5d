"""The reward-space planner: its parts against brute force, its bounds against enumeration."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

from app.errors import BudgetExceeded, InvalidValue
from app.learning.world.model import TransitionModel
from app.planning.policies.reward import RewardPolicy
from app.planning.problem import Plan, PlanBudget, PlanningProblem
from app.planning.reference.paper import plan_paper, smallest_zeta
from app.planning.reward import ends, kernels, law
from app.planning.reward.grid import make_grid, pack
from app.planning.reward.planner import plan_on, plan_reward
from benchmarks.exact import plan_exact
from benchmarks.policy_value import policy_value
from tests.planning.instances import random_problem

SLACK = 1e-9


def mu(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def check(problem: PlanningProblem, plan: Plan) -> tuple[float, float]:
    """The bounds against enumeration; gives the best value and the controller's."""
    best = plan_exact(problem, "reward").value
    value = policy_value(problem, plan.policy, "reward")
    assert plan.lower <= value + SLACK
    assert value <= best + SLACK
    assert best <= plan.upper + SLACK
    assert plan.lower <= plan.value <= plan.upper
    return best, value


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_the_bounds_hold_and_the_gap_is_what_was_asked_for(first: int) -> None:
    for seed in range(first, first + 100):
        problem = random_problem(seed, widths=seed % 8 > 0)
        epsilon = (0.3, 0.1, 0.03)[seed % 3]
        plan = plan_reward(problem, epsilon)
        best, value = check(problem, plan)
        assert plan.gap <= epsilon
        assert best - value <= plan.gap + SLACK


@pytest.mark.parametrize("first", range(1000, 1600, 100))
def test_the_bounds_hold_on_the_coarsest_grids(first: int) -> None:
    """Grids that no one would plan on: what is left out of a bound shows up there."""
    loss = 0.0
    for seed in range(first, first + 100):
        rng = np.random.default_rng(seed)
        problem = random_problem(seed, widths=seed % 8 > 0)
        delta, top = float(rng.choice([4.0, 2.0, 1.0, 0.3])), int(rng.choice([1, 2, 3, 5]))
        plan = plan_on(problem, delta, top)
        best, value = check(problem, plan)
        loss = max(loss, best - value)
    assert loss > 0.001  # rounding did cost something


def test_the_forward_and_the_backward_pass_agree() -> None:
    for seed in range(60):
        model = pack(random_problem(seed, widths=True))
        grid = make_grid(model, 0.7, 3)
        points = int(np.diff(grid.layers).max())
        actions, tables = np.zeros(grid.layers[-1], np.uint8), np.empty((2, 2, points))
        scratch = kernels.make_scratch(grid, actions.dtype)
        kernels.sweep(model, grid, scratch, actions, tables)
        laws = np.empty((2, points, law.MOMENTS))
        value, _ = law.follow(model, grid, actions, np.full(99, 9.0), laws)
        assert value == pytest.approx(model.start @ tables[0, 0, grid.offsets[0]], abs=1e-11)


def bilinear(table: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The table between its points, by SciPy; an axis of one point is constant."""
    table = np.pad(table, [(0, int(size == 1)) for size in table.shape], mode="edge")
    axes = [np.arange(size) for size in table.shape]
    return RegularGridInterpolator(axes, table)(np.stack([x, y], axis=-1))


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1), (3, 4)])
def test_a_lifted_table_is_above_every_action_everywhere_and_touches_one(
    shape: tuple[int, int],
) -> None:
    rng = np.random.default_rng(6)
    (na, nb), A = shape, 2
    for _ in range(60):
        reads, rewards = rng.random((A, na + 1, nb + 1)), rng.random((A, na, nb))
        thetas = rng.random((A, 2)) * rng.choice([0.0, 1.0], size=(A, 2), p=[0.2, 0.8])
        knots_x, knots_y = ([0.0, 1.0, *(1.0 - thetas[:, axis])] for axis in (0, 1))
        spots_x = np.array([i + t for i in range(max(na - 1, 1)) for t in knots_x]) * (na > 1)
        spots_y = np.array([j + t for j in range(max(nb - 1, 1)) for t in knots_y]) * (nb > 1)
        x, y = (axis.ravel() for axis in np.meshgrid(spots_x, spots_y))
        x, y = np.append(x, rng.uniform(0, na - 1, 300)), np.append(y, rng.uniform(0, nb - 1, 300))
        exact = [
            bilinear(reads[a], x + thetas[a, 0], y + thetas[a, 1]) + bilinear(rewards[a], x, y)
            for a in range(A)
        ]
        for a in range(A):
            kernels.settle(reads[a], thetas[a])
        best, over = np.empty(shape), np.zeros(shape)
        kernels.improve(reads, thetas, rewards, best, np.zeros(shape, np.uint8))
        for a in range(A):
            flat = np.zeros(shape)
            kernels.add_excess(reads[a], *thetas[a], rewards[a], flat, best, over)
        kernels.lift(best, over)
        room = bilinear(best, x, y) - np.max(exact, axis=0)
        assert room.min() == pytest.approx(0.0, abs=1e-12)


def test_rewards_rise_at_most_their_bend_above_the_interpolation() -> None:
    rng = np.random.default_rng(3)
    tight = 0.0
    for _ in range(400):
        x, y = rng.normal(scale=2.0), rng.uniform(0.0, 1.2)
        width, height = rng.uniform(0.05, 3.0), rng.uniform(0.02, 0.6)
        rewards, bends = np.zeros((2, 2)), np.zeros((2, 2))
        ends.add_rewards(1.0, x, y, width, height, rewards, bends)
        s, t = (axis.ravel() for axis in np.meshgrid(*[np.linspace(0, 1, 41)] * 2))
        exact = np.minimum(1.0 / (1.0 + np.exp(-x - s * width)) + y + t * height, 1.0)
        linear = (
            (1 - s) * (1 - t) * rewards[0, 0]
            + (1 - s) * t * rewards[0, 1]
            + s * (1 - t) * rewards[1, 0]
            + s * t * rewards[1, 1]
        )
        rise = (exact - linear).max()
        assert rise <= bends[0, 0] + 1e-12
        if bends[0, 0] > 0.001:
            tight = max(tight, rise / bends[0, 0])
    assert tight > 0.8


def test_what_is_assured_is_at_most_the_expected_reward() -> None:
    """For errors of any distribution with the given moments; three points have many."""
    rng = np.random.default_rng(4)
    nearest = math.inf
    for _ in range(3000):
        chance = rng.uniform(0.01, 1.0)
        shares = rng.dirichlet(np.ones(3))
        xi, eta = rng.normal(size=3), rng.normal(size=3) * rng.choice([0.0, 0.02, 0.3])
        xi *= rng.choice([0.0, 0.1, 1.0])
        x, y = rng.normal(scale=2.0), rng.uniform(0.0, 1.5)
        powers = np.stack([np.ones(3), xi, eta, xi**2, eta**2, xi * eta])
        seeming, sure = law.assured(chance * powers @ shares, x, y, np.abs(xi).max())
        expected = shares @ np.minimum(1.0 / (1.0 + np.exp(-x - xi)) + y + eta, 1.0)
        if (mu(x) + y + eta >= 0.0).all():  # rewards are not negative, and the bound knows
            assert sure <= chance * max(expected, 0.0) + 1e-12
        assert seeming == pytest.approx(chance * min(mu(x) + y, 1.0), abs=1e-12)
        if xi.any() and eta.any():
            nearest = min(nearest, chance * expected - sure)
    assert nearest < 1e-3


def test_dice_fall_as_the_branches_say() -> None:
    throws = 500
    for seed in range(40):
        problem = random_problem(seed, widths=True)
        policy = plan_on(problem, 0.37, 7).policy
        assert isinstance(policy, RewardPolicy)
        for h, s in itertools.product(range(problem.horizon), range(problem.states)):
            memory = () if h == 0 else (1, 2)
            ways = {after: (chance, a) for chance, a, after in policy.branches(h, s, memory)}
            assert sum(chance for chance, _ in ways.values()) == pytest.approx(1.0)
            counts = dict.fromkeys(ways, 0)
            for n in range(throws):
                action, after = policy.act(h, s, memory, (n + 0.5) / throws)
                assert ways[after][1] == action
                counts[after] += 1
            for after, (chance, _) in ways.items():
                assert abs(counts[after] / throws - chance) <= 2.0 / throws


def chain(weights: list[list[float]], bonuses: list[list[float]]) -> PlanningProblem:
    """One state; each step's actions have the given weights and bonuses."""
    table = np.array(weights)[:, None, :]
    H, _, A = table.shape
    return PlanningProblem(
        start=np.ones(1),
        transitions=TransitionModel.from_dense(np.ones((A, 1)), 1, A),
        weights=table,
        bonuses=np.array(bonuses)[:, None, :],
        ended_weights=np.zeros((H + 1, 2)),
    )


def test_rounding_that_later_choices_depend_on_is_paid_for_at_first_order() -> None:
    delta = 1.0
    problem = chain([[delta / 2] * 2, [0.0, -30.0]], [[0.0, 0.0], [0.0, mu(delta / 2)]])
    plan = plan_on(problem, delta, 8)
    _, value = check(problem, plan)
    assert plan.value - value == pytest.approx((mu(delta) - mu(delta / 2)) / 2, abs=1e-6)


def test_without_widths_it_brackets_the_same_optimum_as_the_other_planners() -> None:
    for seed in range(30):
        problem = random_problem(seed, max_horizon=3)
        plan = plan_reward(problem, 0.02)
        zeta = smallest_zeta(problem)
        other = plan_paper(problem, 12.0 * problem.horizon**2 * zeta / 20 if zeta else 0.1)
        assert plan.lower <= other.upper + SLACK
        assert other.lower <= plan.upper + SLACK
        logit = plan_exact(problem, "logit").value
        assert plan.lower - SLACK <= logit <= plan.upper + SLACK


def long_problem() -> PlanningProblem:
    """More histories than can be counted: 6 states, 2 actions, 25 steps."""
    rng = np.random.default_rng(8)
    H, S, A = 25, 6, 2
    matrix = rng.dirichlet(np.full(2 * S + 1, 0.2), size=S * A)
    return PlanningProblem(
        start=np.eye(S)[0],
        transitions=TransitionModel.from_dense(matrix, S, A),
        weights=rng.normal(scale=0.3, size=(H, S, A)),
        bonuses=0.01 * rng.random((H, S, A)),
        ended_weights=np.vstack([rng.normal(size=(H, S + 1)), np.zeros(S + 1)]),
        offset=-0.5,
        widths=0.05 * rng.random((H, S, A)),
        ended_widths=np.vstack([0.1 * rng.random((H, S + 1)), np.zeros(S + 1)]),
    )


def test_finer_grids_close_the_gap() -> None:
    problem = long_problem()
    plans = [plan_on(problem, 2.0 / 2**n, 4 * 2**n) for n in range(4)]
    gaps = [plan.gap for plan in plans]
    assert gaps[3] < gaps[2] < gaps[1] < gaps[0]
    assert gaps[3] < 0.25 * gaps[0]
    assert max(plan.lower for plan in plans) <= min(plan.upper for plan in plans)


def test_a_budget_that_stops_refinement_gives_the_best_plan_so_far() -> None:
    problem = long_problem()
    coarse = plan_reward(problem, 0.9)
    plan = plan_reward(problem, 0.001, PlanBudget(cells=20 * coarse.cells))
    assert plan.cells <= 20 * coarse.cells
    assert 0.001 < plan.gap < coarse.gap
    assert plan.lower <= coarse.upper
    assert coarse.lower <= plan.upper


def test_a_first_grid_over_budget_is_refused_before_allocating() -> None:
    problem = long_problem()
    plan_reward(problem, 0.9)  # compile
    tracemalloc.start()
    with pytest.raises(BudgetExceeded, match="grid points") as refused:
        plan_reward(problem, 0.5, PlanBudget(cells=1000))
    assert "horizon" in refused.value.lower
    with pytest.raises(BudgetExceeded, match="bytes"):
        plan_reward(problem, 0.5, PlanBudget(bytes=1000))
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -0.1, math.nan])
def test_an_epsilon_out_of_range_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidValue, match="epsilon"):
        plan_reward(random_problem(1), epsilon)


def test_weights_past_all_reason_are_refused() -> None:
    with pytest.raises(InvalidValue, match="weights"):
        plan_reward(chain([[1e9], [-1e9]], [[0.0], [0.0]]))


def test_a_policy_comes_back_from_its_arrays_and_acts_off_the_map() -> None:
    problem = random_problem(9, widths=True)
    policy = plan_reward(problem, 0.1).policy
    again = RewardPolicy.from_arrays(policy.arrays())
    value = policy_value(problem, policy, "reward")
    assert policy_value(problem, again, "reward") == value
    for h, s, u in itertools.product(range(problem.horizon), range(problem.states), (0.0, 0.99)):
        action, memory = again.act(h, s, (10**6, 10**6), u)
        assert 0 <= action < problem.actions
        assert again.act(h, s, (-(10**6), 0), u)[0] in range(problem.actions)
        assert memory[1] == policy.top
