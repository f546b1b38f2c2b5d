"""Adam against its published sums, written out without any recursion."""

import numpy as np
import pytest

from app.learning.network.adam import LARGEST, Adam


def weighted_sum(gradients, decay):
    """(1 - b) sum_i b^(t - i) g_i / (1 - b^t): the bias-corrected moment."""
    t = len(gradients)
    powers = decay ** np.arange(t - 1, -1, -1)
    return (1 - decay) * powers @ gradients / (1 - decay**t)


@pytest.mark.parametrize("step_size", [1e-3, 1.0])
def test_every_step_is_the_closed_form(step_size):
    gradients = np.random.default_rng(1).normal(size=(40, 6)) * np.logspace(-6, 3, 6)
    state, wanted = Adam.at(np.arange(6.0)), np.arange(6.0)
    for t in range(1, 41):
        state = state.climb(gradients[t - 1], step_size)
        mean = weighted_sum(gradients[:t], 0.9)
        square = weighted_sum(gradients[:t] ** 2, 0.999)
        wanted = wanted + step_size * mean / (np.sqrt(square) + 1e-8)
        np.testing.assert_allclose(state.theta, wanted, rtol=1e-9)
        assert state.steps == t


def test_the_first_step_has_the_step_size_whatever_the_gradient():
    state = Adam.at(np.zeros(3)).climb(np.array([1e3, -1e-3, 0.0]), 0.5)
    np.testing.assert_allclose(state.theta, [0.5, -0.5, 0.0], rtol=1e-4)


def test_it_climbs():
    """The top of -(x - 3)^2 / 2, from its gradient."""
    state = Adam.at(np.zeros(1))
    for _ in range(500):
        state = state.climb(3.0 - state.theta, 0.1)
    assert abs(state.theta[0] - 3.0) < 0.01


def test_an_older_state_is_left_as_it_was():
    first = Adam.at(np.ones(2))
    second = first.climb(np.ones(2), 0.1)
    again = second.theta.copy()
    second.climb(-np.ones(2), 0.1)
    np.testing.assert_array_equal(first.theta, np.ones(2))
    np.testing.assert_array_equal(second.theta, again)


def test_parameters_are_held_before_they_overflow():
    state = Adam.at(np.full(1, LARGEST)).climb(np.ones(1), 10.0)
    assert state.theta[0] == LARGEST
