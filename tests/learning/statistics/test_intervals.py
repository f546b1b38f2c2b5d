"""The Wilson interval against the equation that it solves, and against SciPy's."""

import math

import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest, norm

from app.learning.statistics.intervals import wilson

Z = norm.ppf(0.975)


def distance(chance, good, total):
    """How far a share is from a chance, in deviations of the chance: the score test."""
    return abs(good / total - chance) / math.sqrt(chance * (1.0 - chance) / total) - Z


@pytest.mark.parametrize(("good", "total"), [(1, 2), (3, 10), (9, 10), (50, 100), (1, 1000)])
def test_the_interval_holds_every_chance_that_a_score_test_does_not_reject(good, total):
    low, high = wilson(good, total)
    share, little = good / total, 1e-12
    assert low == pytest.approx(brentq(distance, little, share - little, args=(good, total)))
    assert high == pytest.approx(brentq(distance, share + little, 1 - little, args=(good, total)))


@pytest.mark.parametrize("total", [1, 2, 7, 200])
def test_at_the_edges_it_touches_the_edge(total):
    none, every = wilson(0, total), wilson(total, total)
    assert none[0] == pytest.approx(0.0, abs=1e-15)
    assert every[1] == pytest.approx(1.0, abs=1e-15)
    # With nothing good the score test is solved by z^2 / (n + z^2).
    assert none[1] == pytest.approx(Z**2 / (total + Z**2))
    assert every[0] == pytest.approx(total / (total + Z**2))


@pytest.mark.parametrize(("good", "total"), [(0, 3), (1, 2), (7, 9), (40, 1000)])
def test_it_is_scipys(good, total):
    theirs = binomtest(good, total).proportion_ci(0.95, method="wilson")
    assert wilson(good, total) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
