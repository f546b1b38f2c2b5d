"""Confidence sequences: their coverage when they are watched continuously, and their width."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import beta, binom

from app.learning.statistics.confidence_sequence import success_bounds
from app.service.views.evaluations import recent_window

STREAMS = 1000
LENGTH = 1000
LAMBDAS = 2.0 ** (np.arange(-12, 5) / 2)
TIMES = np.arange(1, LENGTH + 1)
# If every stream is missed with a probability of at most 5 %, more misses than this come in less
# than one of a thousand runs of such a test.
MOST_MISSES = int(binom.ppf(0.999, STREAMS, 0.05))


def streams(p, seed):
    """How many results were good so far, (STREAMS, LENGTH)."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.random((STREAMS, LENGTH)) < p, axis=1)


def evidence(good, n, mean):
    """The log of the averaged martingale against ``mean`` from below, for arrays of results."""
    terms = [x * good - n * np.log1p(mean * np.expm1(x)) for x in LAMBDAS]
    return logsumexp(terms, axis=0) - np.log(len(LAMBDAS))


def ever_above(good, mean, delta):
    """The streams whose lower bound is ever above the mean so far.

    The bound is above the mean where the evidence against the mean exceeds 1 / delta. Whether the
    bounds themselves say the same is checked where each stream comes closest to it.
    """
    against = evidence(good, TIMES, mean)
    worst = against.argmax(axis=1)
    found = against.max(axis=1) >= np.log(1 / delta)
    for i, at in enumerate(worst):
        bound = success_bounds(int(good[i, at]), int(TIMES[at]), delta).at_least
        assert (bound >= np.broadcast_to(mean, (LENGTH,))[at] - 1e-9) == found[i]
    return found


def drifting():
    """The success of policies that get better, and the mean of what was played so far."""
    p = np.linspace(0.3, 0.9, LENGTH)
    return p, np.cumsum(p) / TIMES


@pytest.mark.parametrize("p", [0.03, 0.5, 0.744, 0.98])
def test_watched_continuously_an_interval_misses_at_most_one_stream_in_twenty(p):
    good = streams(p, 1)
    missed = ever_above(good, p, 0.025) | ever_above(TIMES - good, 1.0 - p, 0.025)
    assert missed.sum() <= MOST_MISSES


@pytest.mark.parametrize("case", ["constant", "drifting"])
def test_watched_continuously_a_lower_bound_misses_at_most_one_stream_in_twenty(case):
    p, mean = drifting() if case == "drifting" else (0.744, 0.744)
    assert ever_above(streams(p, 2), mean, 0.05).sum() <= MOST_MISSES


def test_an_interval_is_made_of_its_two_bounds():
    bounds = success_bounds(30, 40)
    assert bounds.low == success_bounds(30, 40, 0.025).at_least
    assert bounds.high == 1.0 - success_bounds(10, 40, 0.025).at_least


def test_a_bound_for_one_look_would_miss_many_streams():
    """The tests above can fail: Clopper and Pearson's bound is right for one look only."""
    good = streams(0.744, 2)
    bounds = beta.ppf(0.05, np.maximum(good, 1e-9), TIMES - good + 1)
    assert (bounds > 0.744).any(axis=1).sum() > 3 * MOST_MISSES


def test_the_recent_interval_holds_for_all_its_windows_together():
    p, _ = drifting()
    good, sums = streams(p, 3), np.cumsum(p)
    missed = np.zeros(STREAMS, dtype=bool)
    for n in TIMES.tolist():
        recent, delta = recent_window(n)
        before = n - recent
        successes = good[:, n - 1] - (good[:, before - 1] if before else 0)
        mean = (sums[n - 1] - (sums[before - 1] if before else 0.0)) / recent
        limit = np.log(2 / delta)
        missed |= evidence(successes, recent, mean) >= limit
        missed |= evidence(recent - successes, recent, 1.0 - mean) >= limit
    assert missed.sum() <= MOST_MISSES


def test_the_recent_results_are_the_last_one_to_two_hundred():
    sizes = [recent_window(n)[0] for n in range(1, 2000)]
    assert sizes[:199] == list(range(1, 200))
    assert set(sizes[199:]) == set(range(100, 200))
    assert sum(recent_window(100 * k)[1] for k in range(1, 10_000)) < 0.05


@pytest.mark.parametrize(("n", "bound"), [(100, 0.60), (200, 0.645), (500, 0.681), (2000, 0.713)])
def test_bounds_are_narrow_enough_to_be_of_use(n, bound):
    assert success_bounds(round(0.744 * n), n).at_least == pytest.approx(bound, abs=0.015)


@pytest.mark.parametrize(("good", "total"), [(0, 0), (0, 1), (1, 1), (0, 50), (50, 50), (7, 20)])
def test_bounds_are_probabilities_around_the_share(good, total):
    bounds = success_bounds(good, total)
    share = good / total if total else 0.5
    assert 0.0 <= bounds.low <= bounds.at_least <= share <= bounds.high <= 1.0
