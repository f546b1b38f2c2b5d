"""Plans on a net against recursion without any grid, and against playing them."""

import numpy as np
import pytest
from scipy.special import expit

from app.errors import InvalidValue
from app.planning.net.problem import NetModel, NetProblem
from app.planning.net.sweep import GRID, NUMBERS, grid_size, solve

K, A, M, H = 4, 2, 2, 5


def problem_of(first, seed=0, tremble=0.1, **changes):
    rng = np.random.default_rng(seed)
    weights = rng.random((K, A, M))
    model = NetModel(
        rng.integers(K, size=(K, A, M)),
        weights / weights.sum(axis=2, keepdims=True),
        np.where(rng.random((K, A)) < 0.4, 0.3, 0.0),
    )
    counted = max(H + 1 - first, 1)
    parts = {
        "gains": 3.0 * rng.standard_normal(K) / counted,
        "offset": -0.5,
        "flag": -1.0,
        "factors": 1.0 - 0.1 * rng.random((K, A)),
        "bonuses": 0.05 * rng.random((K, A)),
    } | changes
    return NetProblem(model, H, first, tremble=tremble, **parts)


def recursion(problem, t, i, logit):
    """(value, chance of success) of the state t in centre i, exactly."""
    if t == H:
        end = expit(logit + (problem.gains[i] if problem.first <= H else 0.0))
        return end, end
    if t >= problem.first:
        logit += problem.gains[i]
    model, found = problem.model, []
    left = max(H + 1 - max(t + 1, problem.first), 0)
    for a in range(A):
        value = chance = gain = 0.0
        for column, weight in zip(model.columns[i, a], model.weights[i, a], strict=True):
            one = recursion(problem, t + 1, column, logit)
            value, chance = value + weight * one[0], chance + weight * one[1]
            gain += weight * problem.gains[column]
        end = model.ends[i, a]
        over = expit(logit + left * gain + problem.flag)
        value, chance = (1 - end) * value + end * over, (1 - end) * chance + end * over
        found.append((value * problem.factors[i, a] + problem.bonuses[i, a], chance))
    values = [value for value, _ in found]
    best = int(np.argmax(values))
    mixed = (1 - problem.tremble) * values[best] + problem.tremble * np.mean(values)
    return mixed, found[best][1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("first", [H, H + 1])
def test_without_an_accumulator_the_sweep_is_exact(first, seed):
    problem = problem_of(first, seed)
    values = solve(problem)
    for i in range(K):
        expected = recursion(problem, 0, i, problem.offset)
        assert (values.planned[i], values.success[i]) == pytest.approx(expected, abs=1e-12)
    assert values.late.shape == (0, K, 1)
    assert values.early.shape == (H + 1, K)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("first", [1, 3, H - 1])
def test_with_an_accumulator_only_the_grid_is_in_between(first, seed):
    problem = problem_of(first, seed, tremble=1.0)  # no choice: nothing but interpolation differs
    values = solve(problem)
    for i in range(K):
        assert values.planned[i] == pytest.approx(
            recursion(problem, 0, i, problem.offset)[0], abs=0.004
        )
    problem = problem_of(first, seed)
    values = solve(problem)
    for i in range(K):
        assert values.planned[i] == pytest.approx(
            recursion(problem, 0, i, problem.offset)[0], abs=0.01
        )


def test_the_values_of_each_step_are_kept():
    problem = problem_of(3)
    values = solve(problem)
    assert values.early.shape == (4, K)
    assert values.late.shape == (2, K, GRID)
    assert values.early[3, 1] == pytest.approx(
        recursion(problem, 3, 1, problem.offset)[0], abs=0.004
    )
    logit = values.low + 7 * values.width
    assert values.late[1, 2, 7] == pytest.approx(expit(logit + problem.gains[2]), abs=1e-6)


def test_success_is_a_probability_though_bonuses_are_large():
    problem = problem_of(H, bonuses=np.full((K, A), 5.0))
    values = solve(problem)
    assert values.planned.min() > 5.0
    assert 0.0 <= values.success.min() <= values.success.max() <= 1.0


def test_a_grid_is_coarser_where_many_steps_count():
    assert grid_size(20, 1000) == GRID
    assert grid_size(200, 1000) == NUMBERS // 200_000
    assert grid_size(10_000, 1000) == 5


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("gains", {"gains": np.full(K, np.nan)}),
        ("factors", {"factors": np.ones((K, A + 1))}),
        ("bonuses", {"bonuses": np.full((K, A), np.inf)}),
    ],
)
def test_arrays_that_do_not_fit_are_refused(field, change):
    with pytest.raises(InvalidValue, match=field):
        problem_of(H, **change)


@pytest.mark.parametrize("first", [0, H + 2])
def test_states_that_count_are_within_the_horizon(first):
    with pytest.raises(InvalidValue, match="first"):
        problem_of(first)


@pytest.mark.parametrize(
    ("field", "columns", "weights", "ends"),
    [
        ("columns", K, 1.0, 0.0),
        ("weights", 0, 0.5, 0.0),
        ("weights", 0, -1.0, 0.0),
        ("ends", 0, 1.0, 1.5),
    ],
)
def test_a_model_that_is_none_is_refused(field, columns, weights, ends):
    with pytest.raises(InvalidValue, match=field):
        NetModel(np.full((K, A, 1), columns), np.full((K, A, 1), weights), np.full((K, A), ends))
