"""The network's probabilities against a loop over units, its gradient against differences."""

import itertools
import math

import numpy as np
import pytest

from app.errors import InvalidValue
from app.learning.network.input_scaling import InputScaling
from app.learning.network.network import Network

SHAPES = [((3, 4), "tanh"), ((2, 5, 3), "tanh"), ((2, 5, 3), "relu"), ((4, 6, 5, 4, 2), "relu")]


def random_theta(network, seed=1):
    return np.random.default_rng(seed).normal(scale=0.7, size=network.parameters)


def by_hand(network, theta, row):
    """Probabilities from plain loops over the flat parameters."""
    values, start = list(row), 0
    for index, (before, after) in enumerate(itertools.pairwise(network.sizes)):
        sums = []
        for j in range(after):
            terms = [values[i] * theta[start + i * after + j] for i in range(before)]
            sums.append(sum(terms) + theta[start + before * after + j])
        start += (before + 1) * after
        values = sums
        if index < len(network.sizes) - 2:
            tanh = network.activation == "tanh"
            values = [math.tanh(v) if tanh else max(v, 0.0) for v in sums]
    total = sum(math.exp(v) for v in values)
    return [math.exp(v) / total for v in values]


@pytest.mark.parametrize(("sizes", "activation"), SHAPES)
class TestNetwork:
    def test_probabilities(self, sizes, activation):
        network = Network(sizes, activation)
        theta, inputs = random_theta(network), np.random.default_rng(2).normal(size=(7, sizes[0]))
        found = np.exp(network.log_probabilities(theta, inputs))
        wanted = [by_hand(network, theta, row) for row in inputs]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)

    def test_the_gradient_is_that_of_finite_differences(self, sizes, activation):
        network, rng = Network(sizes, activation), np.random.default_rng(3)
        theta, inputs = random_theta(network), rng.normal(size=(9, sizes[0]))
        actions, factors = rng.integers(sizes[-1], size=9), rng.normal(size=9)

        def objective(at):
            logs = network.log_probabilities(at, inputs)
            return factors @ logs[np.arange(9), actions]

        step = 1e-6
        differences = [
            (objective(theta + step * unit) - objective(theta - step * unit)) / (2 * step)
            for unit in np.eye(network.parameters)
        ]
        found = network.gradient(theta, inputs, actions, factors)
        np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-8)

    def test_the_gradient_given_what_is_allowed_is_that_of_finite_differences(
        self, sizes, activation
    ):
        """Of log pi(a | x, a is allowed) = log pi(a | x) - log sum of the allowed pi(b | x)."""
        network, rng = Network(sizes, activation), np.random.default_rng(3)
        theta, inputs = random_theta(network), rng.normal(size=(9, sizes[0]))
        actions, factors = rng.integers(sizes[-1], size=9), rng.normal(size=9)
        allowed = rng.random((9, sizes[-1])) < 0.5
        allowed[np.arange(9), actions] = True
        allowed[0] = True

        def objective(at):
            chances = np.exp(network.log_probabilities(at, inputs))
            taken = chances[np.arange(9), actions]
            return factors @ np.log(taken / (chances * allowed).sum(axis=1))

        step = 1e-6
        differences = [
            (objective(theta + step * unit) - objective(theta - step * unit)) / (2 * step)
            for unit in np.eye(network.parameters)
        ]
        found = network.gradient(theta, inputs, actions, factors, allowed)
        np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-8)

    def test_parameters_are_counted(self, sizes, activation):
        network = Network(sizes, activation)
        pairs = itertools.pairwise(sizes)
        assert network.parameters == sum(a * b + b for a, b in pairs)
        with pytest.raises(InvalidValue, match="theta"):
            network.layers(np.zeros(network.parameters + 1))


def test_the_gradient_of_no_step_at_all_is_zero():
    network = Network((2, 3, 2), "tanh")
    nothing = np.empty((0, 2)), np.empty(0, dtype=np.int64), np.empty(0)
    assert not network.gradient(random_theta(network), *nothing).any()


def test_huge_logits_do_not_overflow():
    network = Network((1, 3), "tanh")
    theta = np.array([1e6, -1e6, 0.0, 0.0, 0.0, 0.0])
    logs = network.log_probabilities(theta, np.array([[10.0], [-10.0]]))
    np.testing.assert_array_equal(np.exp(logs), [[1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(("activation", "gain"), [("tanh", 1.0), ("relu", 2.0)])
def test_first_weights_have_the_variance_that_keeps_signals_alive(activation, gain):
    """Sample variances of n normal numbers are within 5 sqrt(2 / n) of the truth (p < 1e-6)."""
    network = Network((50, 80, 60, 40), activation)
    layers = network.layers(network.initial(np.random.default_rng(4), output_scale=0.01))
    for (weights, biases), scale in zip(layers, (1.0, 1.0, 0.01), strict=True):
        wanted = gain / len(weights) * scale**2
        assert abs(weights.var() / wanted - 1.0) < 5 * np.sqrt(2 / weights.size)
        assert not biases.any()


def test_the_first_policy_is_nearly_uniform():
    network = Network((4, 64, 64, 4), "tanh")
    theta = network.initial(np.random.default_rng(5), output_scale=0.01)
    chances = np.exp(
        network.log_probabilities(theta, np.random.default_rng(6).uniform(-1, 1, (99, 4)))
    )
    assert np.abs(chances - 0.25).max() < 0.02


@pytest.mark.parametrize(
    ("sizes", "activation", "field"),
    [((3,), "tanh", "sizes"), ((3, 0, 2), "tanh", "sizes"), ((3, 2), "sine", "activation")],
)
def test_shapes_that_are_none(sizes, activation, field):
    with pytest.raises(InvalidValue) as caught:
        Network(sizes, activation)
    assert caught.value.field == field


class TestLens:
    LOW, HIGH = np.array([0.0, -2.0]), np.array([9.0, 6.0])

    def test_bounds_become_one(self):
        seen = np.array([[0.0, -2.0], [9.0, 6.0], [4.5, 2.0], [18.0, -6.0]])
        wanted = [[-1, -1], [1, 1], [0, 0], [3, -2]]
        np.testing.assert_allclose(InputScaling(self.LOW, self.HIGH)(seen), wanted, atol=1e-15)

    def test_numbers_may_stay_as_they_are(self):
        seen = np.array([[3.0, 5.0]])
        np.testing.assert_array_equal(InputScaling(self.LOW, self.HIGH, scaled=False)(seen), seen)

    def test_numbers_far_out_of_bounds_are_held(self):
        seen = np.array([[1e300, -1e300]])
        np.testing.assert_allclose(InputScaling(self.LOW, self.HIGH)(seen), [[10.0, -10.0]])
        raw = InputScaling(self.LOW, self.HIGH, scaled=False)(seen)
        np.testing.assert_allclose(raw, [[9 + 4.5 * 9, -2 - 4.5 * 8]])
