"""The points of a learning curve: grouped labels, thinned policies, outcomes of episodes."""

from itertools import pairwise

import pytest

from app.service.views.curves import MOST_POINTS, observed, outcomes, thinned, wilson
from app.storage.queries.labels import LabelInForce
from app.storage.rows import EpisodeMode


def test_few_labels_are_a_point_each():
    points = observed([(3, 1), (5, 0)])
    assert [(p.episode, p.labels, p.success) for p in points] == [(3, 1, 1.0), (5, 2, 0.0)]
    assert (points[0].low, points[0].high) == wilson(1, 1)


def test_no_labels_are_no_points():
    assert observed([]) == []


@pytest.mark.parametrize("count", [MOST_POINTS, MOST_POINTS + 1, 999, 1000, 5001])
def test_many_labels_are_grouped_and_all_count(count):
    labels = [(2 * i, i % 3 == 0) for i in range(count)]
    points = observed(labels)
    assert len(points) <= MOST_POINTS
    assert points[-1].labels == count
    assert points[-1].episode == labels[-1][0]
    ends = [0, *(point.labels for point in points)]
    sizes = [end - start for start, end in pairwise(ends)]
    good = sum(point.success * size for point, size in zip(points, sizes, strict=True))
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
    labels = [LabelInForce(n, 1, EpisodeMode(mode), o) for n, mode, o in rows]
    assert outcomes(labels) == [(0, 1), (1, 0), (6, 1)]
