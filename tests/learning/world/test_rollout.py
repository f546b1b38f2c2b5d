"""Visits that pending episodes will make: exact in a certain model, else right on average."""

from __future__ import annotations

import numpy as np
import pytest

from app.learning.arrays import Floats
from app.learning.spaces import Spaces
from app.learning.world.model import TransitionModel
from app.learning.world.rollout import expected_visits
from app.planning.policies.uniform import UniformPolicy

S, A = 3, 2


class Scripted:
    """Takes the action of each step, and remembers how many steps it took."""

    def __init__(self, *actions: int) -> None:
        self.script = actions
        self.memories: list[tuple[int, ...]] = []

    def act(self, step, state, memory, uniform):
        self.memories.append(memory)
        return self.script[step], (step,)

    def arrays(self):
        return {}


def model_of(rows: dict[tuple[int, int], dict[int, float]]) -> TransitionModel:
    matrix = np.zeros((S * A, 2 * S + 1))
    for (s, a), followers in rows.items():
        for column, chance in followers.items():
            matrix[s * A + a, column] = chance
    return TransitionModel.from_dense(matrix, S, A)


def ring() -> TransitionModel:
    """Action 1 moves on to the next state, action 0 stays."""
    return model_of({(s, a): {(s + a) % S: 1.0} for s in range(S) for a in range(A)})


def at(state: int) -> Floats:
    return np.eye(S)[state]


def test_a_certain_model_is_walked_through() -> None:
    visits = expected_visits(ring(), at(1), [Scripted(1, 0, 1, 1)], Spaces(S, A, 4), seed=5)
    # 1 -1-> 2 -0-> 2 -1-> 0 -1-> (1)
    np.testing.assert_array_equal(visits, [[0, 1], [0, 1], [1, 1]])


def test_policies_add_up() -> None:
    spaces = Spaces(S, A, 3)
    scripts = [(1, 1, 1), (0, 0, 0), (0, 1, 0)]
    apart = [expected_visits(ring(), at(0), [Scripted(*one)], spaces, 1) for one in scripts]
    together = expected_visits(ring(), at(0), [Scripted(*one) for one in scripts], spaces, 1)
    np.testing.assert_array_equal(together, sum(apart))
    assert not expected_visits(ring(), at(0), [], spaces, 1).any()


@pytest.mark.parametrize("column", [S, 2 * S - 1, 2 * S])
def test_the_end_stops_an_episode(column: int) -> None:
    """Wherever it ended, also where nobody said."""
    model = model_of({(0, 0): {1: 1.0}, (1, 1): {column: 1.0}})
    visits = expected_visits(model, at(0), [Scripted(0, 1, 1, 1)], Spaces(S, A, 4), seed=0)
    np.testing.assert_array_equal(visits, [[1, 0], [0, 1], [0, 0]])


def test_memory_is_carried_from_step_to_step() -> None:
    policies = [Scripted(1, 1, 0), Scripted(0, 0, 0)]
    expected_visits(ring(), at(0), policies, Spaces(S, A, 3), seed=0)
    assert all(policy.memories == [(), (0,), (1,)] for policy in policies)


def test_on_average_it_is_the_forward_law() -> None:
    """Uniform actions in a random model with early ends and rows that were never seen.

    A cell is visited 0 to H times: Hoeffding over n episodes and a union over the cells, so that
    a right rollout fails with probability below 1e-6.
    """
    H, n = 4, 40_000
    rng = np.random.default_rng(3)
    matrix = rng.dirichlet(np.ones(2 * S + 1) * 0.7, size=S * A)
    matrix[[1, 4]] = 0.0
    model = TransitionModel.from_dense(matrix, S, A)
    start = np.array([0.2, 0.5, 0.3])
    full = model.dense()
    expected, here = np.zeros((S, A)), start
    for _ in range(H):
        expected += np.repeat(here[:, None] / A, A, axis=1)
        here = (np.repeat(here / A, A) @ full)[:S]
    visits = expected_visits(model, start, [UniformPolicy(A)] * n, Spaces(S, A, H), seed=11)
    bound = H * np.sqrt(np.log(2 * S * A / 1e-6) / (2 * n))
    assert np.abs(visits / n - expected).max() < bound
    assert bound < 0.5 * expected.min()


def test_what_follows_does_not_hang_on_the_luck_of_the_action() -> None:
    """Each action goes on half of the time: with one number for both, always or never.

    Hoeffding: a right rollout fails with probability below 1e-6.
    """
    n = 4000
    model = model_of({(0, 0): {1: 0.5, S: 0.5}, (0, 1): {2: 0.5, S: 0.5}})
    visits = expected_visits(model, at(0), [UniformPolicy(A)] * n, Spaces(S, A, 2), seed=3)
    bound = np.sqrt(np.log(4e6) / (2 * n))
    assert abs(visits[1].sum() / n - 0.25) < bound
    assert abs(visits[2].sum() / n - 0.25) < bound


def test_the_seed_fixes_the_luck() -> None:
    model = model_of({})  # nothing seen: every row leads anywhere
    start = np.full(S, 1 / S)
    first, second, other = (
        expected_visits(model, start, [UniformPolicy(A)] * 5, Spaces(S, A, 6), seed)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_policies_do_not_share_their_luck() -> None:
    """Equal policies that are pending together spread out where the model does."""
    spaces = Spaces(S, A, 6)
    model, start = model_of({}), np.full(S, 1 / S)
    one = expected_visits(model, start, [UniformPolicy(A)], spaces, seed=1)
    many = expected_visits(model, start, [UniformPolicy(A)] * 4, spaces, seed=1)
    assert not np.array_equal(many, 4 * one)
