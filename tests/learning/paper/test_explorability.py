"""The lemma's numbers against decimals, and what its theory asks of a map by definition."""

import itertools
from decimal import Decimal, getcontext

import numpy as np
import pytest

from app.learning.features.one_hot import OneHot
from app.learning.features.table import Table
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.paper.explorability import (
    REACHED,
    condition_bound,
    condition_number,
    euler_episodes,
    evaluation_episodes,
    exploration_bound,
    loop_bound,
    mixture_bound,
    typical_omega,
)
from app.learning.spaces import Spaces

S, A, H, D, N = 3, 2, 4, 6, 5000
OMEGA, DELTA = "0.3", "0.05"


def exact():
    getcontext().prec = 40
    return Decimal(OMEGA), Decimal(DELTA)


def growing():
    omega, _ = exact()
    return (1 + 16 * N / (D * omega**2)).ln()


class TestTheLemma:
    def test_the_episodes_of_euler(self):
        omega, delta = exact()
        inside = (S * A * Decimal(N) ** 2 * D / (delta * omega**2)).ln()
        expected = 7 * S**2 * A * H**2 * inside / omega**2
        found = euler_episodes(Spaces(S, A, H), D, N, float(omega), float(delta), 7.0)
        assert found == int(expected) + 1

    def test_the_episodes_of_evaluation(self):
        omega, delta = exact()
        expected = 3 * D**3 * (N * D**2 / (delta * omega**2)).ln() ** 3 / omega**4
        assert evaluation_episodes(D, N, float(omega), float(delta), 3.0) == int(expected) + 1

    def test_the_unknown_constants_are_1_by_default(self):
        sizes = Spaces(S, A, H)
        euler = euler_episodes(sizes, D, N, float(OMEGA), float(DELTA))
        assert euler == euler_episodes(sizes, D, N, float(OMEGA), float(DELTA), 1.0)
        evaluation = evaluation_episodes(D, N, float(OMEGA), float(DELTA))
        assert evaluation == evaluation_episodes(D, N, float(OMEGA), float(DELTA), 1.0)

    def test_the_bounds_on_loops_and_episodes(self):
        expected = float(D * growing() / Decimal("1.5").ln())
        assert loop_bound(D, N, float(OMEGA)) == pytest.approx(expected, rel=1e-13)
        assert exploration_bound(D, N, float(OMEGA), 77.0) == pytest.approx(77 * expected)

    def test_the_share_that_a_loop_must_reach(self):
        """(v . a)^2 >= 3 omega^2 / 16, with which the determinant grows by 3/2."""
        floor, goal = Decimal(1) / 16, Decimal(3) / 16
        assert 1 + goal / (2 * floor) > Decimal("1.5")
        assert pytest.approx(float(goal), rel=1e-14) == REACHED**2

    def test_the_mixture(self):
        omega, _ = exact()
        expected = omega**2 * Decimal("1.5").ln() / (32 * D * (D * growing()).ln())
        assert mixture_bound(D, N, float(OMEGA)) == pytest.approx(float(expected), rel=1e-13)

    def test_the_condition_number(self):
        omega, _ = exact()
        t, explored, third = Decimal(4000), Decimal(1000), Decimal(1) / 3
        front = 128 * D * (D * growing()).ln() / (3 * Decimal("1.5").ln() * omega**2)
        back = (t - explored) / (t ** (2 * third) - (explored + 1) ** (2 * third))
        found = condition_bound(D, N, float(OMEGA), 4000, 1000)
        assert found == pytest.approx(float(front * back), rel=1e-12)


def steps_are_orthogonal(features):
    """By definition: the features of all pairs of cells at different steps."""
    table = np.zeros((H, S, A, features.dimension))
    for j in range(features.dimension):
        table[..., j] = features.spread(np.eye(features.dimension)[j])
    flat = table.reshape(H, S * A, -1)
    pairs = itertools.combinations(range(H), 2)
    return all(abs(flat[h] @ flat[k].T).max() < 1e-9 for h, k in pairs)


def own_steps(overlap=0.0):
    values = np.zeros((H, S, A, 2 * H))
    rng = np.random.default_rng(0)
    for h in range(H):
        values[h, :, :, 2 * h : 2 * h + 2] = rng.normal(size=(S, A, 2))
    values[0, 0, 0, 2] += overlap
    return values


SPACES = Spaces(S, A, H)
MAPS = [
    OneHot(SPACES, step, True, action, steps)
    for step, action in itertools.product((False, True), repeat=2)
    for steps in ((0, 1, 2, 3), (2,))
]
MAPS += [Table(SPACES, own_steps()), Table(SPACES, own_steps(1e-3))]
MAPS += [Table(SPACES, np.ones((S, A, 1))), Table(SPACES, np.zeros((S, A, 1)))]
TURNED = np.linalg.qr(np.random.default_rng(1).normal(size=(2 * H, 2 * H)))[0]
MAPS += [Table(SPACES, own_steps() @ TURNED)]


@pytest.mark.parametrize("features", MAPS, ids=range(len(MAPS)))
def test_orthogonality_is_seen(features):
    assert features.has_orthogonal_steps == steps_are_orthogonal(features)


def test_both_kinds_of_maps_were_seen():
    assert {steps_are_orthogonal(features) for features in MAPS} == {True, False}


def test_a_typical_omega_is_half_a_step():
    assert typical_omega(OneHot(SPACES, True, True, True, (0, 1, 2, 3))) == pytest.approx(0.25)
    assert typical_omega(OneHot(SPACES, False, True, False, (0, 1, 2, 3))) == pytest.approx(0.125)
    assert typical_omega(OneHot(SPACES, True, True, True, (3,))) == pytest.approx(0.5)
    assert typical_omega(Table(SPACES, np.full((S, A, 1), 9.0))) == pytest.approx(0.125)
    assert typical_omega(Table(SPACES, np.full((S, A, 1), 0.1))) == pytest.approx(0.125)
    assert typical_omega(Table(SPACES, np.zeros((S, A, 1)))) == 0.5


class TestConditionNumber:
    def test_it_is_the_ratio_of_the_outer_eigenvalues(self):
        """Labels of either kind count alike, and a trajectory that came twice counts twice."""
        rng, data, sigma = np.random.default_rng(1), LabelledTrajectories(4), 0.7 * np.eye(4)
        for number in range(9):
            row = rng.normal(size=4)
            for _ in range(1 + number % 2):
                data.add((np.arange(4), row), number % 2)
                sigma += np.outer(row, row)
        eigenvalues = np.linalg.eigvalsh(sigma)
        expected = eigenvalues[-1] / eigenvalues[0]
        assert condition_number(data, 0.7) == pytest.approx(expected, rel=1e-10)

    def test_directions_without_data_have_the_ridge_alone(self):
        data = LabelledTrajectories(3)
        data.add((np.array([1]), np.array([2.0])), 1)
        assert condition_number(data, 0.5) == pytest.approx(4.5 / 0.5, rel=1e-12)

    def test_it_is_left_out_above_500_features(self):
        assert condition_number(LabelledTrajectories(500), 2.0) == 1.0
        assert condition_number(LabelledTrajectories(501), 2.0) is None
