"""The forecast: how often its interval holds the truth, and when it says that it does not know."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from app.learning.statistics.forecast import (
    ERROR,
    FARTHEST,
    FEWEST_LABELS,
    forecast,
    labels_needed,
    rises,
    rises_at,
)

RUNS = 150
# Were the interval wrong exactly as often as it says, more misses than this would come up once in
# a thousand times.
MOST_MISSES = int(binom.ppf(0.999, RUNS, ERROR))


def any_curve(rng):
    """A curve that the model takes to be possible: the chance after n labels, the label needed."""
    first, last = sorted(rng.random(2))
    middle, rise = math.exp(rng.uniform(0.0, math.log(1e5))), rng.integers(4)
    target = rng.uniform(0.05, 0.95)
    needed = math.inf
    if first >= target:
        needed = 0.0
    elif last > target:
        needed = middle * rises_at(np.array((target - first) / (last - first)))[rise]
    risen = rises(np.maximum(np.arange(1000.0), 1e-9) / middle)[:, rise]
    return first + (last - first) * risen, needed if needed <= FARTHEST else math.inf, target


def played(chances, rng):
    return [(n, int(rng.random() < chance)) for n, chance in enumerate(chances)]


@pytest.mark.parametrize("labels", [40, pytest.param(250, marks=pytest.mark.slow)])
def test_the_interval_holds_the_truth_as_often_as_it_says(labels):
    misses = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        chances, needed, target = any_curve(rng)
        outcomes = played(chances[:labels], rng)
        low, high = labels_needed(outcomes, target).quantiles((ERROR / 2, 1 - ERROR / 2))
        misses += not low <= needed <= high
    assert misses <= MOST_MISSES


def test_what_it_expects_of_a_curve_of_another_shape_holds_too():
    """Power laws are none of its curves; the intervals that it gives must hold all the same."""
    given = misses = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        last, power = rng.uniform(0.7, 1.0), rng.uniform(0.5, 1.2)
        scale = rng.uniform(10.0, 60.0)
        n = np.arange(200.0)
        outcomes = played(last * (1.0 - (1.0 + n / scale) ** -power), rng)
        found = forecast(outcomes, 200, 0.9 * last)
        needed = scale * (0.1 ** (-1.0 / power) - 1.0)
        if found.kind == "expected":
            given += 1
            high = math.inf if found.high is None else found.high
            misses += not found.low - 1 <= max(0.0, needed - 200) <= high
    assert given >= 30
    assert misses <= binom.ppf(0.999, given, ERROR)


def test_more_labels_make_it_surer():
    widths = []
    for labels in (900, 1500, 3000):
        rng = np.random.default_rng(1)
        chances = 0.1 + 0.8 * rises(np.maximum(np.arange(float(labels)), 1e-9) / 400.0)[:, 0]
        low, high = labels_needed(played(chances, rng), 0.7).quantiles((0.05, 0.95))
        widths.append(math.log(high / max(low, 1.0)))
    assert widths[0] > widths[1] > widths[2]
    true = 400.0 * rises_at(np.array(0.75))[0]
    assert low <= true <= high


def test_few_labels_or_no_prediction_are_not_known_yet():
    few = forecast([(n, 1) for n in range(FEWEST_LABELS - 1)], FEWEST_LABELS - 1, 0.9)
    assert (few.kind, few.low, few.high) == ("unknown", None, None)
    assert "1 more" in few.why
    assert forecast([(n, 1) for n in range(100)], 100, None).kind == "unknown"


def test_a_flat_curve_gives_no_sign():
    rng = np.random.default_rng(0)
    outcomes = [(n, int(rng.random() < 0.3)) for n in range(300)]
    found = forecast(outcomes, 300, 0.9)
    assert found.kind == "unknown"
    assert "no sign" in found.why


def test_a_target_that_is_reached_needs_no_more():
    found = forecast([(n, int(n > 20)) for n in range(200)], 200, 0.8)
    assert (found.kind, found.low, found.high) == ("reached", 0, 0)


def test_a_growing_curve_gets_a_number_with_its_interval():
    rng = np.random.default_rng(5)
    chances = 0.95 * (1.0 - 2.0 ** -(np.arange(250.0) / 150.0))
    found = forecast(played(chances, rng), 250, 0.8)
    assert found.kind == "expected"
    assert found.low <= found.middle
    assert found.low <= -150.0 * math.log2(1.0 - 0.8 / 0.95) - 250 + 1
    assert found.labels == 250


def test_the_rises_and_their_inverses_agree():
    x = np.array([0.01, 0.5, 1.0, 7.0])
    assert rises(np.array(1.0)) == pytest.approx([0.5] * 4)
    for i in range(4):
        assert rises_at(rises(x)[:, i])[:, i] == pytest.approx(x)
