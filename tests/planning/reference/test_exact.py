"""The exact planner against all deterministic policies, closed forms and simulation."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest

from app.errors import BudgetExceeded, InvalidValue
from app.learning.arrays import Floats, Integers
from app.learning.world.model import TransitionModel
from app.planning.policies.history import HistoryPolicy
from app.planning.problem import PlanBudget, PlanningProblem
from app.planning.reference.exact import count_histories, plan_histories
from benchmarks.exact import Space, plan_exact
from benchmarks.policy_value import Branch, policy_value
from tests.planning.instances import Episode, episodes, random_problem, worth_of

SPACES: tuple[Space, ...] = ("logit", "reward")


def mu(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def best_of_all_policies(problem: PlanningProblem, worths: dict[Episode, float]) -> float | None:
    """The best value over every map from histories to actions; None when there are too many."""
    chances = {episode: chance for chance, episode in episodes(problem)}
    histories = sorted(
        {(e[0][:h], e[1][: h - 1]) for e in chances for h in range(1, len(e[0]) + 1)}
    )
    A = problem.actions
    if A ** len(histories) > 5000:
        return None
    place = {history: i for i, history in enumerate(histories)}
    # An episode happens under the policies that take its actions at its histories.
    needs = [
        ([place[e[0][:h], e[1][: h - 1]] for h in range(1, len(e[0]) + 1)], e[1]) for e in chances
    ]
    gains = [chances[e] * worths[e] for e in chances]
    return max(
        sum(
            gain
            for (nodes, actions), gain in zip(needs, gains, strict=True)
            if all(policy[node] == a for node, a in zip(nodes, actions, strict=True))
        )
        for policy in itertools.product(range(A), repeat=len(histories))
    )


def test_no_deterministic_policy_is_better_and_one_is_as_good() -> None:
    compared = 0
    for seed in range(60):
        problem = random_problem(seed, widths=seed % 2 == 1, max_horizon=3)
        for space in SPACES:
            worths = {e: worth_of(problem, e, space) for _, e in episodes(problem)}
            best = best_of_all_policies(problem, worths)
            if best is not None:
                compared += problem.actions > 1 and problem.horizon > 1
                assert plan_exact(problem, space).value == pytest.approx(best, abs=1e-12)
    assert compared >= 10


def test_any_function_of_the_trajectory_can_be_planned_for() -> None:
    """Worths that no sum over steps gives: one random number for each trajectory."""
    compared = 0
    for seed in range(60):
        problem = random_problem(seed, max_horizon=3)
        rng = np.random.default_rng(seed)
        worths = {e: float(rng.random()) for _, e in episodes(problem)}

        def worth(
            states: Integers,
            actions: Integers,
            ended: Integers,
            table: dict[Episode, float] = worths,
        ) -> Floats:
            rows = zip(states.tolist(), actions.tolist(), ended.tolist(), strict=True)
            return np.array([table[tuple(s), tuple(a), e] for s, a, e in rows])

        best = best_of_all_policies(problem, worths)
        if best is not None:
            compared += problem.actions > 1 and problem.horizon > 1
            plan = plan_histories(problem.start, problem.transitions, problem.horizon, worth)
            assert plan.value == pytest.approx(best, abs=1e-12)
    assert compared >= 5


def one_state(weights: list[list[float]], **fields: object) -> PlanningProblem:
    """One state and, at each step, a list of actions' weights."""
    table = np.array(weights)[:, None, :]
    H, _, A = table.shape
    given = {
        "start": np.ones(1),
        "transitions": TransitionModel.from_dense(np.ones((A, 1)), 1, A),
        "weights": table,
        "bonuses": np.zeros_like(table),
        "ended_weights": np.zeros((H + 1, 2)),
        **fields,
    }
    return PlanningProblem(**given)


def test_closed_forms() -> None:
    problem = one_state([[0.5, -1.0], [2.0, 3.0]], offset=-0.25)
    assert plan_exact(problem).value == pytest.approx(mu(0.5 + 3.0 - 0.25), abs=1e-15)
    wide = one_state(
        [[0.5, -1.0], [0.0, 0.0]],
        widths=np.array([[[0.0, 0.2]], [[0.1, 0.1]]]),
        ended_widths=np.zeros((3, 2)),
        bonuses=np.full((2, 1, 2), 0.75),
    )
    best = max(mu(0.5) + 0.1, mu(-1.0) + 0.3) + 1.5
    assert plan_exact(wide, "reward").value == pytest.approx(best, abs=1e-15)
    assert plan_exact(wide, "logit").value == pytest.approx(mu(0.5) + 1.5, abs=1e-15)


def test_an_episode_that_ends_adds_the_remainder_of_the_step_it_is_found_ended_at() -> None:
    ends = TransitionModel.from_dense(np.array([[0.25, 0.5, 0.25]]), 1, 1)
    rest = np.array([[9.0, 9.0], [0.7, -0.4], [1.1, 0.2], [5.0, 5.0]])
    problem = one_state([[0.3], [0.6], [0.9]], transitions=ends, ended_weights=rest)
    first = 0.5 * mu(0.3 + 0.7) + 0.25 * mu(0.3 - 0.4)
    second = 0.5 * mu(0.9 + 1.1) + 0.25 * mu(0.9 + 0.2)
    expected = first + 0.25 * (second + 0.25 * mu(1.8))
    assert plan_exact(problem).value == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("space", SPACES)
def test_the_policy_is_worth_what_the_plan_says(space: Space) -> None:
    for seed in range(150):
        problem = random_problem(seed, widths=True)
        plan = plan_exact(problem, space)
        assert policy_value(problem, plan.policy, space) == pytest.approx(plan.value, abs=1e-12)
        assert plan.lower == plan.value == plan.upper


class Uniform:
    """Any action with the same probability, and a memory that only counts."""

    def __init__(self, actions: int) -> None:
        self.actions = actions

    def branches(self, step: int, state: int, memory: tuple[int, ...]) -> list[Branch]:
        assert len(memory) == step
        return [(1.0 / self.actions, a, (*memory, a)) for a in range(self.actions)]


@pytest.mark.parametrize("space", SPACES)
def test_a_random_policy_is_worth_the_mean_over_its_dice(space: Space) -> None:
    for seed in range(80):
        problem = random_problem(seed, widths=True, paths=200)
        expected = sum(
            chance / problem.actions ** len(episode[1]) * worth_of(problem, episode, space)
            for chance, episode in episodes(problem)
        )
        value = policy_value(problem, Uniform(problem.actions), space)
        assert value == pytest.approx(expected, abs=1e-12)


def test_acting_in_the_model_earns_the_value_on_average() -> None:
    """Hoeffding's inequality: fails by chance once in 10^9 runs."""
    problem = random_problem(64, widths=True, logits="plain")
    plan = plan_exact(problem, "reward")
    rng = np.random.default_rng(5)
    episodes_run = 10_000
    cumulative = np.cumsum(problem.transitions.dense(), axis=1)
    total = 0.0
    for _ in range(episodes_run):
        states, actions, ended, memory = [], [], -1, ()
        state = int(np.searchsorted(np.cumsum(problem.start), rng.random()))
        for h in range(problem.horizon):
            action, memory = plan.policy.act(h, state, memory, rng.random())
            states.append(state)
            actions.append(action)
            row = cumulative[state * problem.actions + action]
            state = int(np.searchsorted(row, rng.random() * row[-1]))
            if h < problem.horizon - 1 and state >= problem.states:
                ended = state - problem.states
                break
        total += worth_of(problem, (tuple(states), tuple(actions), ended), "reward")
    spread = 1.0 + np.ptp(problem.bonuses, axis=(1, 2)).sum()
    error = spread * math.sqrt(math.log(2.0 / 1e-9) / (2.0 * episodes_run))
    assert abs(total / episodes_run - plan.value) <= error
    assert policy_value(problem, Uniform(problem.actions), "reward") < plan.value - 2.0 * error


def test_an_impossible_history_is_met_with_any_action() -> None:
    model = TransitionModel.from_dense(np.array([[1.0, 0.0]] * 6), 2, 3)
    problem = PlanningProblem(
        start=np.array([1.0, 0.0]),
        transitions=model,
        weights=np.zeros((3, 2, 3)),
        bonuses=np.zeros((3, 2, 3)),
        ended_weights=np.zeros((4, 3)),
    )
    policy = plan_exact(problem).policy
    _, memory = policy.act(0, 0, (), 0.5)
    seen = {policy.act(1, 1, memory, u)[0] for u in (0.1, 0.5, 0.9)}
    assert seen == {0, 1, 2}
    _, memory = policy.act(1, 1, memory, 0.5)
    assert {policy.act(2, 0, memory, u)[0] for u in (0.1, 0.5, 0.9)} == {0, 1, 2}


def test_a_policy_comes_back_from_its_arrays() -> None:
    for seed in range(20):
        problem = random_problem(seed)
        policy = plan_exact(problem).policy
        again = HistoryPolicy.from_arrays(policy.arrays())
        assert policy_value(problem, again) == policy_value(problem, policy)


def test_histories_are_counted_before_they_are_grown() -> None:
    for seed in range(60):
        problem = random_problem(seed, max_horizon=4)
        count = count_histories(problem.start, problem.transitions, problem.horizon)
        chances = [episode for _, episode in episodes(problem)]
        edges = {(e[0][:h], e[1][:h]) for e in chances for h in range(1, len(e[0]) + 1)}
        assert count == len(edges)


def test_too_many_histories_are_refused_before_anything_is_allocated() -> None:
    S, A, H = 3000, 4, 50
    unseen = TransitionModel(S, A, np.zeros(S * A + 1, int), np.zeros(0, int), np.zeros(0))
    problem = PlanningProblem(
        start=np.full(S, 1.0 / S),
        transitions=unseen,
        weights=np.zeros((H, S, A)),
        bonuses=np.zeros((H, S, A)),
        ended_weights=np.zeros((H + 1, S + 1)),
    )
    tracemalloc.start()
    with pytest.raises(BudgetExceeded, match="histories") as refused:
        plan_exact(problem)
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()
    assert "horizon" in refused.value.lower


def test_the_budget_is_the_callers() -> None:
    problem = random_problem(2, logits="plain")
    cells = plan_exact(problem).cells
    assert plan_exact(problem, budget=PlanBudget(cells=cells)).cells == cells
    with pytest.raises(BudgetExceeded):
        plan_exact(problem, budget=PlanBudget(cells=cells - 1))
    with pytest.raises(BudgetExceeded):
        plan_exact(problem, budget=PlanBudget(bytes=8))
    with pytest.raises(BudgetExceeded, match="paths"):
        policy_value(problem, Uniform(problem.actions), most=1)


def test_an_unknown_space_is_refused() -> None:
    problem = random_problem(0)
    with pytest.raises(InvalidValue, match="space"):
        plan_exact(problem, "odds")
    with pytest.raises(InvalidValue, match="space"):
        policy_value(problem, Uniform(problem.actions), "odds")
