import numpy as np
import pytest
from scipy.special import expit

from app.errors import InvalidValue
from app.learning.continuous.interpolation import interpolate, neighbours
from app.planning.net.problem import NetModel, NetProblem
from app.planning.net.sweep import solve
from app.planning.policies.net import NetPolicy

K, A, H, D = 30, 3, 6, 2


def policy_of(first, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(K, D))
    columns, weights = interpolate(rng.normal(size=(K * A, D)), centres, neighbours(D))
    shape = (K, A, neighbours(D))
    ends = np.where(rng.random((K, A)) < 0.3, 0.5, 0.0)
    problem = NetProblem(
        NetModel(columns.reshape(shape), weights.reshape(shape), ends),
        H,
        first,
        rng.normal(size=K),
        0.3,
        -1.0,
        1.0 - 0.1 * rng.random((K, A)),
        0.1 * rng.random((K, A)),
    )
    scaling = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    return NetPolicy.of(*scaling, centres, problem, solve(problem)), problem


def expected_qualities(policy, problem, step, state, logit):
    """The rule of docs/policy.md, in plain NumPy."""
    z = (np.array(state) - policy.centre) / policy.unit
    near, shares = (part[0] for part in interpolate(z[None], policy.centres, neighbours(D)))
    if problem.first <= step < H:
        logit = logit + shares @ problem.gains[near]
    left = max(H + 1 - max(step + 1, problem.first), 0)
    found = np.zeros(A)
    for i, share in zip(near, shares, strict=True):
        for a in range(A):
            columns, weights = problem.model.columns[i, a], problem.model.weights[i, a]
            if step + 1 < len(policy.early):
                values = policy.early[step + 1, columns]
            else:
                grid = policy.low + policy.width * np.arange(policy.late.shape[2])
                rows = policy.late[step + 1 - len(policy.early)]
                values = [np.interp(logit, grid, rows[column]) for column in columns]
            over = expit(logit + left * (weights @ problem.gains[columns]) + problem.flag)
            end = problem.model.ends[i, a]
            value = (1 - end) * (weights @ values) + end * over
            found[a] += share * (value * problem.factors[i, a] + problem.bonuses[i, a])
    return found, logit


@pytest.mark.parametrize("first", [1, 3, H, H + 1])
def test_it_acts_by_the_documented_rule(first):
    policy, problem = policy_of(first)
    rng, memory, logit = np.random.default_rng(1), (), problem.offset
    for step in range(H):
        state = tuple(policy.centre + policy.unit * rng.normal(size=D))
        qualities, logit = expected_qualities(policy, problem, step, state, logit)
        found, _ = policy.qualities(step, state, memory)
        assert found == pytest.approx(qualities, abs=1e-4)
        action, memory = policy.act(step, state, memory, 0.0)
        assert action == np.argmax(found)
        assert policy.branches(step, state, memory)[0][0] == 1.0


def test_it_remembers_a_logit_only_where_states_add_up():
    _, memory = policy_of(H)[0].act(2, (0.0, 0.0), (), 0.0)
    assert memory == ()
    _, memory = policy_of(1)[0].act(2, (0.0, 0.0), (), 0.0)
    assert len(memory) == 1
    assert isinstance(memory[0], int)


@pytest.mark.parametrize("first", [1, H])
def test_arrays_become_the_same_policy(first):
    policy, _ = policy_of(first)
    again = NetPolicy.from_arrays(policy.arrays())
    states = np.random.default_rng(2).normal(size=(50, D))
    for state in states:
        one, other = (p.qualities(2, tuple(state), ())[0] for p in (policy, again))
        assert (one == other).all()


def test_another_length_of_observation_is_refused():
    with pytest.raises(InvalidValue, match="state: expected 2 numbers"):
        policy_of(H)[0].act(0, (1.0, 2.0, 3.0), (), 0.0)


def test_observations_far_outside_get_an_action():
    action, _ = policy_of(1)[0].act(0, (1e300, -1e300), (), 0.0)
    assert 0 <= action < A
