"""The paper's tensors against a transcription of the appendix, and against enumeration."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest

from app.errors import BudgetExceeded, InvalidValue
from app.planning.problem import PlanBudget, PlanningProblem
from app.planning.reference.paper import PaperPolicy, plan_paper, smallest_zeta
from benchmarks.exact import plan_exact
from benchmarks.policy_value import policy_value
from tests.planning.instances import episodes, random_problem


def epsilon_for(problem: PlanningProblem, intervals: int) -> float:
    """The epsilon at which the net has about this many intervals."""
    zeta = smallest_zeta(problem)
    return 12.0 * problem.horizon**2 * zeta / intervals if zeta else 0.1


class Appendix:
    """The printed definitions, one quartet at a time; without ends (the paper has none)."""

    def __init__(self, problem: PlanningProblem, epsilon: float, zeta: float) -> None:
        self.problem, self.epsilon, self.zeta = problem, epsilon, zeta
        self.width = epsilon / (6 * problem.horizon**2)
        self.m = math.ceil(12 * problem.horizon**2 * zeta / epsilon)
        self.matrix = problem.transitions.dense()[:, : problem.states]
        self.widths = np.zeros_like(problem.weights) if problem.widths is None else problem.widths

    def nu(self, j: int) -> float:
        return -self.zeta + (j - 0.5) * self.width

    def sigma(self, x: float) -> int:
        """The interval that holds x; the nearest one where x leaves [-zeta, zeta]."""
        for j in range(1, self.m):
            if x < -self.zeta + j * self.width:
                return j
        return self.m

    def quality(self, h: int, s: int, cell: tuple[int, int, int], a: int) -> float:
        p = self.problem
        w, v, b = p.weights[h, s, a], self.widths[h, s, a], p.bonuses[h, s, a]
        x, y, z = (self.nu(index) for index in cell)
        if h == p.horizon - 1:
            return min(1.0 / (1.0 + math.exp(-x - w)) + y + v, 1.0) + z + b
        after = (self.sigma(x + w), self.sigma(y + v), self.sigma(z + b))
        row = self.matrix[s * p.actions + a]
        return sum(row[t] * self.value(h + 1, int(t), after) for t in np.flatnonzero(row))

    def value(self, h: int, s: int, cell: tuple[int, int, int]) -> float:
        return max(self.quality(h, s, cell, a) for a in range(self.problem.actions))

    def start(self) -> float:
        origin = (self.sigma(self.problem.offset), self.sigma(0.0), self.sigma(0.0))
        return sum(
            float(self.problem.start[s]) * self.value(0, int(s), origin)
            for s in np.flatnonzero(self.problem.start)
        )


def without_ends(problem: PlanningProblem) -> bool:
    return bool((problem.transitions.columns < problem.states).all())


def test_the_tensors_are_the_papers_to_the_letter() -> None:
    compared = 0
    for seed in range(60):
        problem = random_problem(seed, widths=True, max_horizon=3, paths=1000)
        if not without_ends(problem) or smallest_zeta(problem) == 0.0:
            continue
        compared += problem.horizon > 1
        epsilon = epsilon_for(problem, 17)
        plan = plan_paper(problem, epsilon)
        literal = Appendix(problem, epsilon, smallest_zeta(problem))
        assert plan.policy.choices.shape[-1] == literal.m
        assert plan.value == pytest.approx(literal.start(), abs=1e-9)
        check_choices(problem, literal, plan.policy)
    assert compared >= 8


def check_choices(problem: PlanningProblem, literal: Appendix, policy: PaperPolicy) -> None:
    """a_hat is a maximiser, at some quartets of the last step but one."""
    rng = np.random.default_rng(0)
    h = max(problem.horizon - 2, 0)
    for s, _ in itertools.product(range(problem.states), range(5)):
        i, j, k = (int(index) for index in rng.integers(1, literal.m + 1, size=3))
        action = int(policy.choices[h, s, i - 1, j - 1, k - 1])
        best = literal.value(h, s, (i, j, k))
        assert literal.quality(h, s, (i, j, k), action) == pytest.approx(best, abs=1e-9)


def test_the_bounds_hold_against_enumeration() -> None:
    widest = 0.0
    for seed in range(240):
        problem = random_problem(seed, widths=seed % 3 > 0, max_horizon=4)
        epsilon = epsilon_for(problem, 24 if seed % 2 else 9)
        plan = plan_paper(problem, epsilon)
        best = plan_exact(problem, "reward").value
        value = policy_value(problem, plan.policy, "reward")
        assert plan.lower <= value + 1e-9
        assert best <= plan.upper + 1e-9
        assert plan.value - best <= plan.upper - plan.value + 1e-9
        assert value <= best + 1e-9
        assert best - value <= epsilon + 1e-9  # the paper's lemma
        assert 0.0 < plan.gap <= epsilon
        widest = max(widest, (best - value) / epsilon)
    assert widest > 0.01  # the nets were coarse enough to matter


def test_without_widths_it_plans_in_logit_space_too() -> None:
    for seed in range(30):
        problem = random_problem(seed, max_horizon=3)
        plan = plan_paper(problem, epsilon_for(problem, 20))
        assert plan.lower - 1e-9 <= plan_exact(problem, "logit").value <= plan.upper + 1e-9


def test_zeta_is_the_largest_sum_of_any_episode() -> None:
    for seed in range(100):
        problem = random_problem(seed, widths=True, max_horizon=4)
        assert problem.widths is not None
        assert problem.ended_widths is not None
        largest = abs(problem.offset)
        for _, (states, actions, ended) in episodes(problem):
            taken = (np.arange(len(states)), np.array(states), np.array(actions))
            sums = [
                np.cumsum([problem.offset, *problem.weights[taken]]),
                np.cumsum([0.0, *problem.widths[taken]]),
                np.cumsum([0.0, *problem.bonuses[taken]]),
            ]
            largest = max(largest, *(float(np.abs(partial).max()) for partial in sums))
            if ended >= 0:
                rest = (len(states), ended)
                largest = max(largest, abs(sums[0][-1] + problem.ended_weights[rest]))
                largest = max(largest, sums[1][-1] + problem.ended_widths[rest])
        assert smallest_zeta(problem) == pytest.approx(largest, abs=1e-12)


def test_a_larger_zeta_is_allowed_and_a_smaller_one_refused() -> None:
    problem = random_problem(9, widths=True, max_horizon=2)
    zeta, epsilon = smallest_zeta(problem), epsilon_for(problem, 20)
    plan = plan_paper(problem, epsilon, zeta=1.5 * zeta)
    assert plan.policy.choices.shape[-1] == 30
    assert plan.lower <= plan_exact(problem, "reward").value <= plan.upper
    for wrong in (0.99 * zeta, math.inf, math.nan):
        with pytest.raises(InvalidValue, match="zeta"):
            plan_paper(problem, epsilon, zeta=wrong)


def test_a_policy_comes_back_from_its_arrays() -> None:
    problem = random_problem(9, widths=True, max_horizon=3)
    policy = plan_paper(problem, epsilon_for(problem, 15)).policy
    again = PaperPolicy.from_arrays(policy.arrays())
    value = policy_value(problem, policy, "reward")
    assert policy_value(problem, again, "reward") == value
    assert again.act(0, 0, (), 0.3) == policy.act(0, 0, (), 0.9)


def test_it_refuses_what_it_cannot_plan_before_allocating() -> None:
    problem = random_problem(9, widths=True)
    tracemalloc.start()
    for epsilon in (1e-6, 5e-324):
        with pytest.raises(BudgetExceeded, match="cells") as refused:
            plan_paper(problem, epsilon)
        assert "epsilon" in refused.value.lower
    with pytest.raises(BudgetExceeded, match="bytes"):
        plan_paper(problem, epsilon_for(problem, 20), budget=PlanBudget(bytes=1000))
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidValue, match="epsilon"):
            plan_paper(problem, wrong)
