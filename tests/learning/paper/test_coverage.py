"""The matrix of Algorithm 2 without building it, against its dense eigenvalues."""

import numpy as np
import pytest

from app.learning.paper.coverage import Coverage

OMEGA = 0.4


def covered(averages, active=None):
    return Coverage(OMEGA, np.array(averages, dtype=float), active)


def dense(coverage):
    d = coverage.averages.shape[1]
    return OMEGA**2 / 16 * np.eye(d) + coverage.averages.T @ coverage.averages


@pytest.mark.parametrize("count", [0, 1, 3, 5, 9])
def test_the_smallest_eigenvalue_and_its_space(count):
    coverage = covered(np.random.default_rng(count).normal(size=(count, 5)) / 4)
    values, vectors = np.linalg.eigh(dense(coverage))
    assert coverage.smallest == pytest.approx(values[0], rel=1e-9)
    tied = np.flatnonzero(values < values[0] + 1e-9)
    assert coverage.tied == len(tied)
    projector = vectors[:, tied] @ vectors[:, tied].T
    vector = np.arange(5.0) - 1.0
    np.testing.assert_allclose(coverage.novel(vector), projector @ vector, atol=1e-9)


def test_it_is_covered_from_omega_squared_over_8_on():
    enough = OMEGA / 4 * np.eye(3)
    assert covered(enough * (1 + 1e-9)).is_covered
    assert not covered(enough * (1 - 1e-9)).is_covered


def test_the_goal_itself_is_enough():
    """omega = 4: the floor is 1, the goal 2, and these averages add exactly 1."""
    coverage = Coverage(4.0, np.eye(3))
    assert coverage.smallest == coverage.goal == 2.0
    assert coverage.is_covered
    assert coverage.unreached(9) == (0, [])


def test_what_is_given_up_is_left_out():
    coverage = covered([[0.3, 0.0, 0.0], [0.0, 0.05, 0.0]])
    assert coverage.smallest == pytest.approx(OMEGA**2 / 16)
    once = coverage.give_up()
    assert once.smallest == pytest.approx(OMEGA**2 / 16 + 0.05**2)
    np.testing.assert_allclose(once.novel(np.ones(3)), [0.0, 1.0, 0.0], atol=1e-12)
    twice = once.give_up()
    assert twice.smallest == pytest.approx(OMEGA**2 / 16 + 0.09)
    nothing = twice.give_up()
    assert nothing.size == 0
    assert nothing.is_covered
    assert once.add(np.array([0.0, 0.3, 0.9])).is_covered


def test_nothing_given_up_comes_back():
    """A later average may touch a direction that was given up, but it is not sought again."""
    coverage = covered([[0.3, 0.0, 0.0]]).give_up().add(np.array([0.1, 0.01, 0.0]))
    np.testing.assert_allclose(coverage.novel(np.ones(3)), [1.0, 0.0, 0.0], atol=1e-12)


class TestUnreached:
    def test_says_which_direction(self):
        count, found = covered(np.eye(4)[[0, 1, 3]]).unreached(9)
        assert count == 1
        np.testing.assert_allclose(found, [[0.0, 0.0, 1.0, 0.0]], atol=1e-12)

    def test_says_which_difference(self):
        count, found = covered([[0.5, 0.5, 0.0], [0.0, 0.0, 0.5]]).unreached(9)
        assert count == 1
        np.testing.assert_allclose(found, [[0.5**0.5, -(0.5**0.5), 0.0]], atol=1e-12)

    def test_directions_are_orthogonal_and_below_the_goal(self):
        coverage = covered(np.random.default_rng(2).normal(size=(3, 8)))
        count, found = coverage.unreached(9)
        assert count == len(found) == 5
        np.testing.assert_allclose(np.array(found) @ np.array(found).T, np.eye(5), atol=1e-9)
        worth = np.array(found) @ dense(coverage) @ np.array(found).T
        np.testing.assert_allclose(worth, OMEGA**2 / 16 * np.eye(5), atol=1e-9)

    @pytest.mark.parametrize("seed", range(8))
    def test_each_is_as_close_to_one_feature_as_the_space_allows(self, seed):
        """By projectors: the feature with the largest share in what is left, projected on it."""
        rng = np.random.default_rng([4, seed])
        averages = rng.normal(size=(2, 6)) * rng.random(6)
        rest = np.eye(6) - np.linalg.pinv(averages) @ averages
        _, found = covered(9.0 * averages).unreached(9)
        assert len(found) == 4
        for direction in found:
            feature = int(np.argmax(np.diag(rest)))
            expected = rest[feature] / np.sqrt(rest[feature, feature])
            np.testing.assert_allclose(direction, expected, atol=1e-9)
            rest = rest - np.outer(direction, direction)

    def test_of_many_only_some_are_named(self):
        count, found = covered(np.zeros((0, 8))).unreached(2)
        assert (count, len(found)) == (8, 2)
