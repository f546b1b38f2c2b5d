"""The network policy: its law, its rule for one uniform number, and its arrays."""

import numpy as np
import pytest
from scipy import stats

from app.errors import InvalidValue
from app.learning.network.input_scaling import InputScaling
from app.learning.network.network import Network
from app.learning.randomness import uniform
from app.planning.policies.markov import MarkovPolicy
from app.planning.policies.network import NetworkPolicy
from app.planning.policies.registry import act_in, pack_policy, unpack_policy
from app.planning.policies.uniform import UniformPolicy

SEEN = (3.0, -1.0)


def policy(activation="tanh", scaled=True, actions=4, seed=1):
    network = Network((2, 6, actions), activation)
    theta = np.random.default_rng(seed).normal(size=network.parameters)
    return NetworkPolicy(
        network, theta, InputScaling(np.array([0.0, -5.0]), np.array([4.0, 5.0]), scaled)
    )


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_actions_have_the_probabilities_of_the_softmax(activation):
    """A chi-square test that errs with probability 1e-4."""
    acting, count = policy(activation), 4000
    taken = [acting.act(0, SEEN, (), uniform(7, n, 0))[0] for n in range(count)]
    wanted = acting.probabilities(np.array([SEEN]))[0]
    assert wanted.min() > 0.01
    test = stats.chisquare(np.bincount(taken, minlength=4), count * wanted)
    assert test.pvalue > 1e-4


def test_the_action_is_the_first_whose_sum_exceeds_the_number():
    acting = policy()
    bounds = np.cumsum(acting.probabilities(np.array([SEEN]))[0])
    for luck in (0.0, *bounds[:-1], *(bounds[:-1] - 1e-12), 1.0 - 2.0**-53):
        wanted = next((a for a in range(4) if luck < bounds[a]), 3)
        assert acting.act(0, SEEN, (), float(luck)) == (wanted, ())


def test_branches_are_the_law_of_act():
    acting = policy()
    ways = acting.branches(3, SEEN, ())
    assert [action for _, action, _ in ways] == [0, 1, 2, 3]
    np.testing.assert_allclose(sum(chance for chance, _, _ in ways), 1.0)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("scaled", [True, False])
def test_stored_and_restored_it_is_the_same(activation, scaled):
    acting = policy(activation, scaled)
    again = unpack_policy(pack_policy(acting))
    assert isinstance(again, NetworkPolicy)
    assert (again.network, again.scaling.scaled) == (acting.network, scaled)
    np.testing.assert_array_equal(again.theta, acting.theta)
    np.testing.assert_array_equal(again.probabilities(np.array([SEEN])),
                                  acting.probabilities(np.array([SEEN])))  # fmt: skip


def test_its_arrays_are_enough_to_act_by_oneself():
    """What a client in another language would write."""
    acting = policy("relu")
    a = acting.arrays()
    x = 2 * (np.array(SEEN) - a["low"]) / (a["high"] - a["low"]) - 1
    x = np.maximum(x @ a["weights.0"] + a["biases.0"], 0)
    logits = x @ a["weights.1"] + a["biases.1"]
    chances = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(acting.probabilities(np.array([SEEN]))[0], chances, rtol=1e-12)


def test_other_numbers_than_it_sees_are_refused():
    with pytest.raises(InvalidValue, match="state: expected 2 numbers"):
        policy().act(0, (1.0, 2.0, 3.0), (), 0.5)
    with pytest.raises(InvalidValue, match="state: expected 2 numbers"):
        policy().act(0, 1, (), 0.5)


def test_one_call_acts_on_both_kinds_of_states():
    acting = policy()
    assert act_in(acting, 0, SEEN, (), 0.3) == acting.act(0, SEEN, (), 0.3)
    assert act_in(UniformPolicy(4), 0, 2, (), 0.3) == (1, ())
    assert act_in(UniformPolicy(4), 0, SEEN, (), 0.3) == (1, ())
    with pytest.raises(InvalidValue, match="state: expected the number of a state"):
        act_in(MarkovPolicy(np.zeros((1, 1), dtype=np.int64)), 0, SEEN, (), 0.3)
