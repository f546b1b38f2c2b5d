"""The fast planner beyond enumeration: its two paths, saturation, budgets, compiled code."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from app.errors import BudgetExceeded, InvalidValue
from app.learning.world.model import TransitionModel
from app.planning.fast import dense
from app.planning.fast.planner import plan_fast
from app.planning.problem import Plan, PlanBudget, PlanningProblem
from benchmarks.exact import plan_exact


def problem_of(
    seed: int,
    states: int = 12,
    actions: int = 3,
    horizon: int = 10,
    followers: int = 3,
    scale: float = 0.5,
    offset: float = -0.7,
) -> PlanningProblem:
    """Some rows end episodes, some have never been seen, bonuses oppose the weights."""
    rng = np.random.default_rng(seed)
    S, A, H = states, actions, horizon
    matrix = np.zeros((S * A, 2 * S + 1))
    for row in matrix:
        row[rng.choice(S, followers, replace=False)] = rng.dirichlet(np.ones(followers))
        if rng.random() < 0.3:
            row *= 0.8
            row[rng.integers(S, 2 * S + 1)] += 0.2
    matrix[rng.random(S * A) < 0.15] = 0.0
    weights = rng.normal(scale=scale, size=(H, S, A))
    remainders = rng.normal(scale=scale, size=(H + 1, S + 1))
    remainders[H] = 0.0
    return PlanningProblem(
        start=rng.dirichlet(np.ones(S)),
        transitions=TransitionModel.from_dense(matrix, S, A),
        weights=weights,
        bonuses=0.05 * rng.random((H, S, A)) - 0.03 * weights,
        ended_weights=remainders,
        offset=offset,
    )


def chain(weights: list[float], offset: float = 0.0) -> PlanningProblem:
    """One state and one action: the value is mu(offset + sum of weights)."""
    H = len(weights)
    return PlanningProblem(
        start=np.ones(1),
        transitions=TransitionModel.from_dense(np.ones((1, 1)), 1, 1),
        weights=np.array(weights)[:, None, None],
        bonuses=np.zeros((H, 1, 1)),
        ended_weights=np.zeros((H + 1, 2)),
        offset=offset,
    )


def assert_same_policy(first: Plan, second: Plan) -> None:
    ours, theirs = first.policy.arrays(), second.policy.arrays()
    assert ours.keys() == theirs.keys()
    for key, array in ours.items():
        np.testing.assert_array_equal(array, theirs[key], err_msg=key)


@pytest.mark.parametrize("followers", [1, 3, 12])
@pytest.mark.parametrize("certify", [True, False])
def test_matrix_products_and_sparse_rows_agree(
    followers: int, certify: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(5):
        problem = problem_of(seed, followers=followers)
        plans = []
        for worthwhile in (True, False):
            monkeypatch.setattr(dense, "worthwhile", lambda _, chosen=worthwhile: chosen)
            plans.append(plan_fast(problem, 0.05, certify=certify))
        assert plans[0].upper == pytest.approx(plans[1].upper, abs=1e-10)
        assert plans[0].lower == pytest.approx(plans[1].lower, abs=1e-10)
        assert plans[0].value == pytest.approx(plans[1].value, abs=1e-10)
        assert plans[0].cells == plans[1].cells
        assert_same_policy(*plans)


@pytest.mark.parametrize("followers", [1, 2, 3, 4, 12])
def test_matrix_products_are_for_dense_models(
    followers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What planning takes, it takes by how full the rows are."""
    used: list[bool] = []
    asked = dense.worthwhile

    def noted(model):  # type: ignore[no-untyped-def]
        used.append(asked(model))
        return used[-1]

    monkeypatch.setattr(dense, "worthwhile", noted)
    problem = problem_of(1, followers=followers)
    plan_fast(problem, 0.1, certify=False)
    table = problem.transitions
    ends = len(set(table.columns[table.columns >= problem.states].tolist()))
    filled = len(table.columns) / (problem.states * problem.actions * (problem.states + ends))
    assert used == [filled > 0.25]


@pytest.mark.parametrize("epsilon", [0.5, 0.1, 0.02])
def test_a_plan_without_a_certificate_is_the_first_of_one_with(epsilon: float) -> None:
    compared = 0
    for seed in range(8):
        problem = problem_of(seed)
        plain = plan_fast(problem, epsilon, certify=False)
        certified = plan_fast(problem, epsilon)
        assert certified.gap <= epsilon
        grids = [(one.policy.delta, one.policy.clip) for one in (plain, certified)]
        if grids[0] != grids[1]:
            continue  # the certificate asked for a finer grid, or for a wider one
        compared += 1
        assert_same_policy(plain, certified)
        assert plain.upper == certified.upper
        assert plain.lower <= certified.lower
        assert plain.value == plain.upper
    assert compared >= 2


class TestSaturation:
    """Logits far outside the grid; the bounds must hold the closed form all the same."""

    BUDGET = PlanBudget(bytes=1e6)  # grids that follow such logits are large, and not the point

    @pytest.mark.parametrize("size", [1e2, 1e3, 1e6, 1e12, 1e300])
    @pytest.mark.parametrize("last", [-2.0, 0.0, 1.5])
    def test_a_logit_that_comes_back_stays_within_the_bounds(
        self, size: float, last: float
    ) -> None:
        for first in (size, -size):
            plan = plan_fast(chain([first, -first, last]), 0.01, self.BUDGET)
            assert 0.0 <= plan.lower <= expit(last) <= plan.upper <= 1.0 + 1e-9

    @pytest.mark.parametrize("size", [20.0, 1e3, 1e6, 1e300])
    def test_a_logit_that_stays_out_is_known_exactly(self, size: float) -> None:
        good = plan_fast(chain([size, 1.0, 0.3]), 0.01, self.BUDGET)
        bad = plan_fast(chain([-size, 1.0, 0.3]), 0.01, self.BUDGET)
        assert good.lower > 0.99
        assert bad.upper < 0.01

    @pytest.mark.parametrize("offset", [-1e4, -400.0, 400.0, 1e4])
    def test_an_offset_may_be_far_out_too(self, offset: float) -> None:
        plan = plan_fast(chain([0.5, -offset, 0.25], offset), 0.01, self.BUDGET)
        assert plan.lower <= expit(0.75) <= plan.upper

    @pytest.mark.parametrize("scale", [50.0, 1e4])
    def test_bounds_of_whole_problems_stay_in_order(self, scale: float) -> None:
        for seed in range(3):
            problem = problem_of(seed, scale=scale)
            most = float(problem.bonuses.max(axis=(1, 2)).sum())
            plan = plan_fast(problem, 0.05, self.BUDGET)
            assert math.isfinite(plan.upper)
            assert math.isfinite(plan.lower)
            assert plan.lower <= plan.value <= plan.upper <= 1.0 + most + 1e-9


class TestWidening:
    """Where logits were cut off, they are followed further before the grid becomes finer."""

    @pytest.mark.parametrize("size", [20.0, 100.0, 250.0])
    @pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.001])
    def test_a_logit_that_comes_back_is_followed(self, size: float, epsilon: float) -> None:
        for first in (size, -size):
            problem = chain([first, -first, 0.3])
            plan = plan_fast(problem, epsilon, PlanBudget(cells=100, bytes=2e5))
            assert plan.gap <= epsilon
            assert plan.lower <= expit(0.3) <= plan.upper
            assert plan.policy.delta == plan_fast(problem, epsilon, certify=False).policy.delta

    @pytest.mark.parametrize("seed", range(6))
    def test_choices_between_large_logits(self, seed: int) -> None:
        """Three steps of +-100 or near 0, of which some add up to little: by enumeration."""
        rng = np.random.default_rng(seed)
        base = problem_of(seed, states=3, actions=3, horizon=3)
        weights = rng.choice([-100.0, 0.0, 100.0], size=(3, 3, 3)) + rng.normal(size=(3, 3, 3))
        problem = replace(base, weights=weights, bonuses=rng.random((3, 3, 3)) - weights / 80.0)
        best = plan_exact(problem).value
        plan = plan_fast(problem, 0.01, PlanBudget(cells=1e4))
        assert plan.gap <= 0.01
        assert plan.lower <= best <= plan.upper

    @pytest.mark.parametrize("scale", [3.0, 20.0])
    def test_whole_problems_of_large_logits_need_few_points(self, scale: float) -> None:
        for seed in range(4):
            problem = problem_of(seed, scale=scale)
            first = plan_fast(problem, 0.05, PlanBudget(cells=1e4), certify=False)
            plan = plan_fast(problem, 0.05, PlanBudget(cells=1e5))
            assert plan.gap <= 0.05
            assert plan.upper <= first.upper
            assert plan.policy.delta == first.policy.delta

    def test_where_nothing_was_cut_off_only_the_grid_becomes_finer(self) -> None:
        """Logits within +-9, and an epsilon that the first grid does not reach."""
        refined = 0
        for seed in range(8):
            problem = chain(np.random.default_rng(seed).uniform(-3.0, 3.0, size=3).tolist())
            for epsilon in (0.1, 0.01, 0.001):
                first, plan = (plan_fast(problem, epsilon, certify=c) for c in (False, True))
                assert plan.gap <= epsilon
                refined += plan.policy.delta < first.policy.delta
                for index in plan.policy.clip:
                    assert abs(index) * plan.policy.delta == pytest.approx(12.0, abs=1.0)
        assert refined >= 2

    def test_what_no_grid_can_follow_ends(self) -> None:
        """1000 is further than any grid goes: the gap stays, and the bounds hold."""
        plan = plan_fast(chain([1e3, -1e3, 0.3]), 0.1)
        assert plan.gap > 0.1
        assert plan.lower <= expit(0.3) <= plan.upper


@pytest.mark.parametrize("remainder", [0.37, -3.1, 80.0, -80.0, 450.0, -450.0, 1e6])
@pytest.mark.parametrize("products", [True, False], ids=["dense", "sparse"])
def test_ended_rows_are_exact(
    remainder: float, products: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of zero move nothing, so that no rounding blurs what the ends are worth.

    A step ends in state 0 with 0.3, nowhere known with 0.2, and goes on with 0.5.
    """
    monkeypatch.setattr(dense, "worthwhile", lambda _: products)
    remainders = np.array([[9.0, 9.0], [remainder, 0.4], [0.5 * remainder, -0.2], [0.0, 0.0]])
    problem = PlanningProblem(
        start=np.ones(1),
        transitions=TransitionModel.from_dense(np.array([[0.5, 0.3, 0.2]]), 1, 1),
        weights=np.zeros((3, 1, 1)),
        bonuses=np.zeros((3, 1, 1)),
        ended_weights=remainders,
        offset=-0.9,
    )
    truth, alive = 0.0, 1.0
    for step in (1, 2):
        for chance, rest in zip((0.3, 0.2), remainders[step], strict=True):
            truth += alive * chance * expit(-0.9 + rest)
        alive *= 0.5
    truth += alive * expit(-0.9)  # the last step adds no remainder, ended or not
    plan = plan_fast(problem, 0.01)
    assert plan.value == pytest.approx(truth, abs=1e-12)
    assert plan.lower == pytest.approx(truth, abs=1e-8)
    assert truth <= plan.upper <= truth + 0.01


class TestBudget:
    LOWER = "lower the horizon, the number of states or actions, or raise epsilon"

    def refused(self, problem: PlanningProblem, budget: PlanBudget) -> tuple[BudgetExceeded, int]:
        """The refusal, and the most memory that was held until then."""
        plan_fast(chain([0.0]), 0.5)  # what loading compiled code holds is not the plan's
        tracemalloc.start()
        try:
            with pytest.raises(BudgetExceeded) as caught:
                plan_fast(problem, 0.01, budget)
            return caught.value, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def test_points_are_refused_before_they_are_made(self) -> None:
        problem = problem_of(1, states=300, horizon=40, scale=1.0)
        error, peak = self.refused(problem, PlanBudget(cells=1e4))
        needed = plan_fast(problem, 0.01, certify=False)
        assert error.needed == needed.cells > 1e6
        assert error.allowed == 1e4
        assert str(error).startswith("plan: grid points: needs ")
        assert str(error).endswith(self.LOWER)
        assert peak < 0.1 * needed.bytes

    def test_bytes_are_refused_before_they_are_allocated(self) -> None:
        problem = problem_of(1, states=300, horizon=40, scale=1.0)
        error, peak = self.refused(problem, PlanBudget(bytes=2e6))
        assert error.what == "plan: bytes"
        assert error.lower == self.LOWER
        assert peak < 1e6

    def test_tables_of_the_windows_themselves_are_refused(self) -> None:
        """Already the windows' ends of 300 000 points would take 5 MB."""
        problem = problem_of(1, states=3000, actions=1, horizon=100, followers=1)
        error, peak = self.refused(problem, PlanBudget(bytes=1e6))
        assert error.needed > 1e7
        assert peak < 2e6

    def test_windows_that_no_memory_holds_are_refused(self) -> None:
        error, peak = self.refused(chain([1.0, 1.0], offset=1e12), PlanBudget())
        assert error.needed > 1e12
        assert peak < 1e5

    def test_the_budget_is_what_planning_needs(self) -> None:
        """It fits by its own account, and not with one point less."""
        problem = problem_of(2)
        plan = plan_fast(problem, 0.1, certify=False)
        plan_fast(problem, 0.1, PlanBudget(cells=plan.cells, bytes=plan.bytes), certify=False)
        for budget in (PlanBudget(cells=plan.cells - 1), PlanBudget(bytes=plan.bytes - 1)):
            with pytest.raises(BudgetExceeded):
                plan_fast(problem, 0.1, budget, certify=False)

    @pytest.mark.parametrize(
        ("states", "actions", "followers"),
        [(100, 8, 2), (100, 8, 100), (6, 80, 6)],
        ids=["sparse", "large matrix", "large products"],
    )
    @pytest.mark.parametrize("certify", [True, False])
    def test_the_account_covers_what_is_held(
        self, states: int, actions: int, followers: int, certify: bool
    ) -> None:
        problem = problem_of(3, states, actions, 20, followers, scale=1.0)
        plan_fast(problem, 0.5)
        tracemalloc.start()
        try:
            plan = plan_fast(problem, 0.2, certify=certify)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 1.05 * plan.bytes + 1e5

    def test_without_room_for_matrix_products_sparse_rows_do(self) -> None:
        problem = problem_of(3, followers=12)
        roomy = plan_fast(problem, 0.1)
        tight = plan_fast(problem, 0.1, PlanBudget(bytes=roomy.bytes - 1))
        assert tight.bytes < roomy.bytes
        assert tight.upper == pytest.approx(roomy.upper, abs=1e-10)
        assert tight.lower == pytest.approx(roomy.lower, abs=1e-10)
        assert_same_policy(tight, roomy)

    def test_a_refinement_that_does_not_fit_leaves_an_honest_gap(self) -> None:
        """The coarse interval and a finer one both hold the optimum, so that they overlap."""
        stopped = 0
        for seed in range(6):
            problem = problem_of(seed, scale=3.0)
            fine = plan_fast(problem, 0.02)
            cells = plan_fast(problem, 0.02, certify=False).cells
            coarse = plan_fast(problem, 0.02, PlanBudget(cells=cells))
            stopped += coarse.gap > 0.02
            assert fine.gap <= 0.02
            assert coarse.gap == coarse.upper - coarse.lower
            assert coarse.cells <= cells
            assert coarse.lower <= fine.upper
            assert fine.lower <= coarse.upper
        assert stopped >= 3


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -1.0, math.inf, math.nan])
def test_epsilon_is_between_0_and_1(epsilon: float) -> None:
    with pytest.raises(InvalidValue) as caught:
        plan_fast(chain([1.0]), epsilon)
    assert caught.value.field == "epsilon"


def test_more_actions_than_the_policy_can_name_are_refused() -> None:
    actions = 65_536
    problem = PlanningProblem(
        start=np.ones(1),
        transitions=TransitionModel.from_dense(np.ones((actions, 1)), 1, actions),
        weights=np.zeros((1, 1, actions)),
        bonuses=np.zeros((1, 1, actions)),
        ended_weights=np.zeros((2, 2)),
    )
    with pytest.raises(InvalidValue) as caught:
        plan_fast(problem)
    assert caught.value.field == "actions"


IN_A_NEW_PROCESS = """
import json
from app.planning.fast import dense
from app.planning.fast import grid
from app.planning.reward import grid as reward_grid
from app.planning.reward import kernels as reward_kernels
from app.planning.reward import law as reward_law
from app.planning import rows
from app.planning.fast import sweeps
from app.planning.warm_up import warm_up

def compiled():
    found = {}
    for module in (dense, grid, reward_grid, reward_kernels, reward_law, rows, sweeps):
        for name, kernel in vars(module).items():
            if hasattr(kernel, "signatures") and kernel.py_func.__module__ == module.__name__:
                found[f"{module.__name__}.{name}"] = len(kernel.signatures)
    return found

warm_up()
before = compiled()

import numpy as np
from app.agents import AgentSpec, make_agent
from app.learning.trajectory import Trajectory

# A ring is sparse; states that follow each other at random fill their rows.
state_visits = {"kind": "one_hot", "over": ["state"]}
optimist = {"kind": "ucbvi", "optimism": "reward", "epsilon": 0.5}
for states, jump, features, algorithm in (
    (9, 1, None, {"kind": "thompson"}),
    (3, None, state_visits, {"kind": "thompson"}),
    (3, None, state_visits, optimist),
):
    spec = AgentSpec(states=states, actions=2, horizon=4, features=features, algorithm=algorithm)
    agent = make_agent(spec)
    rng = np.random.default_rng(1)
    for episode in range(20):
        moves = rng.integers(states, size=4) if jump is None else np.full(4, jump)
        ended = episode % 5 == 0
        path = Trajectory(np.cumsum(moves) % states, rng.integers(2, size=4), 0 if ended else -1, ended)
        agent.finish(episode, path)
        agent.label(episode, episode % 2)
    for certify in (True, False):
        agent.plan(20, certify=certify)
        agent.plan(20, "exploit", certify=certify)
print(json.dumps([before, compiled()]))
"""  # noqa: E501


def test_warming_up_compiles_all_that_planning_runs() -> None:
    """Whoever warms up first never waits for a compiler while an episode waits for an action."""
    run = [sys.executable, "-c", IN_A_NEW_PROCESS]
    output = subprocess.run(run, capture_output=True, text=True, check=True, timeout=300).stdout
    before, after = json.loads(output)
    assert before == after
    entered = {name.rpartition(".")[2] for name, count in before.items() if count}
    assert entered >= {"find_windows", "sweep", "evaluate", "_improve_step", "_follow_step"}
