"""Automaton features: read step by step, their largest norm, and what is refused."""

from itertools import product

import numpy as np
import pytest

from app.errors import BudgetExceeded, InvalidValue
from app.learning.features.automaton import MOST_PAIRS, Automaton
from app.learning.spaces import Spaces
from app.learning.trajectory import UNREPORTED, Trajectory

SPACES = Spaces(3, 2, 4)


def random_automaton(rng, spaces=SPACES):
    """An automaton of up to five states; about half of them look at actions, or at ends."""
    M = int(rng.integers(1, 6))
    shape = (M, spaces.states, spaces.actions)[: int(rng.integers(2, 4))]
    ends = rng.integers(M, size=(M, spaces.states)) if rng.random() < 0.5 else None
    vectors = rng.normal(size=(M, int(rng.integers(1, 4)))) * (rng.random() < 0.9)
    return Automaton(spaces, rng.integers(M, size=shape), vectors, ends)


def naive(automaton, states, actions, ended):
    """phi(tau), one step after the other; ``ended`` is None where the automaton reads no end."""
    now = 0
    for state, action in zip(states, actions, strict=True):
        now = automaton.transitions[now][state]
        now = now if automaton.transitions.ndim == 2 else now[action]
    if ended is not None and automaton.ends is not None:
        now = automaton.ends[now][ended]
    return automaton.vectors[now].tolist()


def episodes(spaces=SPACES):
    """Every (states, actions, end); the end is None at the horizon and where it is unreported."""
    for length in range(1, spaces.horizon + 1):
        ends = [None, *range(spaces.states)] if length < spaces.horizon else [None]
        pairs = list(product(range(spaces.states), range(spaces.actions)))
        for steps, end in product(product(pairs, repeat=length), ends):
            yield [s for s, _ in steps], [a for _, a in steps], end


def test_every_episode_is_read_step_by_step():
    rng = np.random.default_rng(1)
    some = list(episodes(Spaces(3, 2, 3)))
    for _ in range(20):
        automaton = random_automaton(rng, Spaces(3, 2, 3))
        for states, actions, end in some:
            ended = len(states) < 3
            final = UNREPORTED if end is None else end
            trajectory = Trajectory(np.array(states), np.array(actions), final, ended)
            found = np.zeros(automaton.dimension)
            indices, values = automaton.row(trajectory)
            found[indices] = values
            assert found.tolist() == naive(automaton, states, actions, end)


def test_an_end_after_the_last_step_of_the_horizon_is_not_read():
    automaton = Automaton(Spaces(2, 1, 1), np.zeros((2, 2), int), np.eye(2), np.ones((2, 2), int))
    late = Trajectory(np.array([0]), np.array([0]), 1, ended=True)
    assert automaton.row(late)[0].tolist() == [0]


def test_the_largest_norm_is_that_of_some_episode():
    rng = np.random.default_rng(2)
    some = list(episodes(Spaces(2, 2, 3)))
    for _ in range(60):
        automaton = random_automaton(rng, Spaces(2, 2, 3))
        largest = max(np.linalg.norm(naive(automaton, *episode)) for episode in some)
        assert automaton.largest_norm() == pytest.approx(largest, rel=1e-14)


def test_states_that_need_more_steps_than_the_horizon_do_not_count():
    chain = np.array([[1], [2], [3], [3]])
    vectors = np.array([[9.0], [1.0], [2.0], [5.0]])
    norms = [Automaton(Spaces(1, 1, H), chain, vectors).largest_norm() for H in (1, 2, 3, 9)]
    assert norms == [1.0, 2.0, 5.0, 5.0]
    jump = np.full((4, 1), 3)
    assert Automaton(Spaces(1, 1, 1), chain, vectors, jump).largest_norm() == 1.0
    assert Automaton(Spaces(1, 1, 2), chain, vectors, jump).largest_norm() == 5.0


class TestRefusals:
    def refusal(self, transitions, vectors, ends=None):
        ends = None if ends is None else np.array(ends)
        transitions, vectors = np.array(transitions), np.array(vectors, dtype=float)
        with pytest.raises(InvalidValue) as caught:
            Automaton(SPACES, transitions, vectors, ends)
        return caught.value

    def test_a_transition_outside_the_states(self):
        error = self.refusal([[0, 1, 0], [0, 2, 0]], [[0], [1]])
        assert error.field == "features.transitions"
        assert error.expected == "states of the automaton, from 0 to 1, but [1][1] is 2"
        error = self.refusal(np.full((1, 3, 2), -1), [[0]])
        assert error.expected.endswith("[0][0][0] is -1")

    def test_missing_rows(self):
        assert self.refusal([[0, 0]], [[1]]).field == "features.transitions"
        assert self.refusal(np.zeros((1, 3, 1), int), [[1]]).expected == (
            "shape (1, 3) or (1, 3, 2), got (1, 3, 1)"
        )
        error = self.refusal([[0] * 3] * 2, [[1]])
        assert error.field == "features.vectors"
        assert error.expected.startswith("shape (2, d)")
        error = self.refusal([[0] * 3] * 2, [[1], [0]], [[0, 0]])
        assert (error.field, error.expected) == ("features.ends", "shape (2, 3), got (1, 2)")

    def test_an_end_outside_the_states(self):
        assert self.refusal([[0] * 3], [[1]], [[0, 0, 1]]).field == "features.ends"

    @pytest.mark.parametrize("number", [np.nan, np.inf, 1e300, 1e-300])
    def test_features_that_are_no_usable_numbers(self, number):
        assert self.refusal([[0] * 3], [[number]]).field == "features.vectors"

    def test_too_large_a_product(self):
        states = MOST_PAIRS // 2 + 1
        small = np.broadcast_to(np.zeros((2, 1), dtype=np.int64), (2, states))
        with pytest.raises(BudgetExceeded, match="fewer states, or lower the number of") as caught:
            Automaton(Spaces(states, 1, 3), small, np.eye(2))
        assert caught.value.needed == 2 * states
