"""The gradient of a batch against the exact gradient of success in a world small enough to sum."""

import itertools

import numpy as np
import pytest

from app.learning.network.network import Network
from app.learning.network.policy_gradient import LabelledEpisode, advantage, batch_gradient

NETWORK = Network((2, 3, 2), "tanh")
HORIZON = 3
THETA = np.random.default_rng(1).normal(scale=0.8, size=NETWORK.parameters)


def walk(actions):
    """What is seen on the way of these actions: the step, and the sum of the actions so far."""
    before = np.concatenate([[0], np.cumsum(actions)[:-1]])
    return np.stack([np.arange(HORIZON), before], axis=1).astype(float)


def good(actions):
    return int(actions in {(1, 0, 1), (0, 1, 1)})


EVERY = list(itertools.product((0, 1), repeat=HORIZON))


def probability(theta, actions):
    logs = NETWORK.log_probabilities(theta, walk(actions))
    return float(np.exp(logs[np.arange(HORIZON), actions].sum()))


def success(theta):
    return sum(probability(theta, actions) * good(actions) for actions in EVERY)


def differences(objective, theta, step=1e-6):
    return np.array(
        [
            (objective(theta + step * unit) - objective(theta - step * unit)) / (2 * step)
            for unit in np.eye(len(theta))
        ]
    )


def lesson(actions, theta=THETA, label=None):
    label = good(actions) if label is None else label
    return LabelledEpisode(walk(actions), np.array(actions), label, theta)


@pytest.mark.parametrize("baseline", ["raw", "centred"])
def test_its_expectation_is_the_gradient_of_success(baseline):
    """Summed over all pairs of episodes: exact, but for the baseline's factor 1 - 1/m."""
    expected = np.zeros(NETWORK.parameters)
    for pair in itertools.product(EVERY, repeat=2):
        chance = np.prod([probability(THETA, actions) for actions in pair])
        expected += chance * batch_gradient(NETWORK, [lesson(a) for a in pair], baseline)
    factor = 1.0 if baseline == "raw" else 0.5
    np.testing.assert_allclose(expected, factor * differences(success, THETA), atol=1e-8)


def test_the_sample_mean_tends_to_the_gradient_of_success():
    """Each part within 5 standard errors over 4000 batches (p < 1e-4 for all 17 together)."""
    rng = np.random.default_rng(2)
    chances = np.array([probability(THETA, actions) for actions in EVERY])
    draws = rng.choice(len(EVERY), size=(4000, 5), p=chances / chances.sum())
    found = np.array(
        [batch_gradient(NETWORK, [lesson(EVERY[i]) for i in row], "raw") for row in draws]
    )
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - differences(success, THETA)) < 5 * errors + 1e-9).all()


def test_a_lesson_is_taken_where_it_was_played():
    """Two players in one batch: the sum of what each would give by itself."""
    other = THETA + 0.3
    mixed = [
        lesson((1, 0, 1)),
        lesson((0, 1, 1), other),
        lesson((0, 0, 0)),
        lesson((1, 1, 1), other),
    ]
    shares = advantage(np.array([m.label for m in mixed], dtype=float), "normalised") / 4
    wanted = sum(
        share
        * differences(lambda at, one=one: np.log(probability(at, tuple(one.actions))), one.theta)
        for share, one in zip(shares, mixed, strict=True)
    )
    np.testing.assert_allclose(batch_gradient(NETWORK, mixed, "normalised"), wanted, atol=1e-8)


def test_the_lens_is_looked_through():
    doubled = LabelledEpisode(2 * walk((1, 0, 1)), np.array([1, 0, 1]), 1, THETA)
    found = batch_gradient(NETWORK, [doubled], "raw", scaling=lambda seen: seen / 2)
    np.testing.assert_array_equal(found, batch_gradient(NETWORK, [lesson((1, 0, 1))], "raw"))


def test_episodes_of_different_lengths_and_none():
    full, short = lesson((1, 0, 1), label=1), lesson((1, 0, 1), label=1)
    short = LabelledEpisode(short.observations[:1], short.actions[:1], 1, THETA)
    empty = LabelledEpisode(np.empty((0, 2)), np.empty(0, dtype=np.int64), 1, THETA)
    alone = [batch_gradient(NETWORK, [one], "raw") for one in (full, short)]
    together = batch_gradient(NETWORK, [full, empty, short], "raw")
    np.testing.assert_allclose(together, (alone[0] + alone[1]) / 3, rtol=1e-12)


class TestAdvantages:
    LABELS = np.array([1.0, 0.0, 0.0, 1.0, 0.0])

    def test_raw(self):
        np.testing.assert_array_equal(advantage(self.LABELS, "raw"), self.LABELS)

    def test_centred(self):
        np.testing.assert_allclose(advantage(self.LABELS, "centred"), [0.6, -0.4, -0.4, 0.6, -0.4])

    def test_normalised(self):
        found = advantage(self.LABELS, "normalised")
        np.testing.assert_allclose([found.mean(), found.std()], [0.0, 1.0], atol=1e-7)

    @pytest.mark.parametrize("label", [0.0, 1.0])
    @pytest.mark.parametrize("kind", ["centred", "normalised"])
    def test_labels_that_are_all_the_same_teach_nothing(self, kind, label):
        assert not advantage(np.full(7, label), kind).any()
