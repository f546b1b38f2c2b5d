"""How much a label would teach, against numerical integration."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from app.learning.logistic.information import label_information


def entropy(chance):
    return -sum(p * math.log(p) for p in (chance, 1.0 - chance) if p > 0.0)


def integrated(mean, deviation):
    """H(E[p]) - E[H(p)], both expectations by adaptive quadrature."""

    def expectation(of):
        def weighted(x):
            density = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
            return density * of(float(expit(mean + deviation * x)))

        return quad(weighted, -12.0, 12.0, epsabs=1e-12, limit=400)[0]

    return entropy(expectation(lambda chance: chance)) - expectation(entropy)


@pytest.mark.parametrize("mean", [-6.0, -1.3, 0.0, 0.4, 3.0])
@pytest.mark.parametrize("deviation", [0.01, 0.3, 1.0, 2.5, 10.0])
def test_it_is_the_integral(mean, deviation):
    found = label_information(np.array([mean]), np.array([deviation]))[0]
    assert found == pytest.approx(integrated(mean, deviation), abs=1e-9)


def test_a_probability_that_is_known_teaches_nothing():
    known = label_information(np.array([-2.0, 0.0, 5.0]), np.zeros(3))
    assert known == pytest.approx(np.zeros(3), abs=1e-12)


def test_more_doubt_teaches_more_and_never_more_than_a_fair_coin():
    found = label_information(np.zeros(50), np.linspace(0.0, 50.0, 50))
    assert (np.diff(found[:10]) > 0).all()
    assert (found >= 0.0).all()
    assert (found <= math.log(2.0)).all()


def test_good_and_bad_are_alike():
    means, deviations = np.array([0.5, 1.0, 4.0]), np.array([0.2, 1.0, 3.0])
    assert label_information(means, deviations) == pytest.approx(
        label_information(-means, deviations), abs=1e-12
    )


def test_extreme_beliefs_stay_finite():
    found = label_information(np.array([-1e4, 1e4, 0.0]), np.array([1.0, 1.0, 1e6]))
    assert np.isfinite(found).all()
