"""The learning curve's intervals, against the equation that they solve."""

import math
from types import SimpleNamespace

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from app.service.views.curves import MOST_POINTS, observed, outcomes, thinned, wilson

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


def test_few_labels_are_a_point_each():
    points = observed([(3, 1), (5, 0)])
    assert [(p["episode"], p["labels"], p["success"]) for p in points] == [(3, 1, 1.0), (5, 2, 0.0)]
    assert (points[0]["low"], points[0]["high"]) == wilson(1, 1)


def test_no_labels_are_no_points():
    assert observed([]) == []


@pytest.mark.parametrize("count", [MOST_POINTS, MOST_POINTS + 1, 999, 1000, 5001])
def test_many_labels_are_grouped_and_all_count(count):
    labels = [(2 * i, i % 3 == 0) for i in range(count)]
    points = observed(labels)
    assert len(points) <= MOST_POINTS
    assert points[-1]["labels"] == count
    assert points[-1]["episode"] == labels[-1][0]
    sizes = [
        b["labels"] - a["labels"] for a, b in zip([{"labels": 0}, *points], points, strict=False)
    ]
    good = sum(point["success"] * size for point, size in zip(points, sizes, strict=True))
    assert good == pytest.approx(sum(label for _, label in labels))


@pytest.mark.parametrize("count", [0, 1, MOST_POINTS, MOST_POINTS + 1, 12345])
def test_thinning_keeps_the_order_and_both_ends(count):
    kept = thinned(range(count))
    assert len(kept) == min(count, MOST_POINTS)
    assert kept == sorted(set(kept))
    if count:
        assert (kept[0], kept[-1]) == (0, count - 1)


def test_several_verdicts_are_one_outcome_and_several_labels():
    rows = [
        (0, "learn", 1),
        (1, "learn", 0),
        (1, "learn", 0),
        (2, "exploit", 1),
        (3, "learn", None),  # wants more
        (5, "imported", 0),
        (6, "learn", 1),
        (6, "learn", 1),
    ]
    verdicts = [SimpleNamespace(number=n, mode=mode, outcome=o) for n, mode, o in rows]
    assert outcomes(verdicts) == [(0, 1), (1, 0), (6, 1)]
