"""Charts as paths: every label counts once, and points lie where their numbers say."""

import re
from types import SimpleNamespace

import pytest

from app.service.views.curves import wilson
from app.web.render.charts import even_ticks, groups, heat, learning_chart, path, spark, stairs


@pytest.mark.parametrize("count", [0, 1, 7, 8, 17, 100, 5000])
def test_every_label_is_in_one_group(count):
    labels = [int(i % 3 == 0) for i in range(count)]
    found = groups(labels)
    assert len(found) <= 40
    assert [one.first for one in found] == [0, *(one.labels for one in found)][: len(found)]
    assert sum(one.success * (one.labels - one.first) for one in found) == pytest.approx(
        sum(labels)
    )
    if count:
        assert found[-1].labels == count
        assert all(one.labels - one.first >= min(12, count) for one in found)
        good = sum(labels[: found[0].labels])
        assert (found[0].low, found[0].high) == wilson(good, found[0].labels)


def test_a_path_has_the_best_at_the_top_and_the_most_at_the_right():
    assert path([(0, 0.0), (5, 0.5), (10, 1.0)], 10) == "M0 100L50 50L100 0"
    assert path([], 10) == ""


def test_stairs_hold_a_value_until_the_next():
    assert stairs([(0, 0.5), (5, 1.0), (10, 1.0)], 10) == "M0 50H50V0H100V0"
    assert stairs([], 10) == ""


def test_a_chart_reaches_the_newest_policy_and_keeps_out_what_is_not_known():
    policies = [
        SimpleNamespace(labels=n, predicted=p) for n, p in ((0, None), (4, 0.25), (20, 0.5))
    ]
    chart = learning_chart([1] * 40, policies, 0.25)
    assert (chart.most, chart.marks) == (40, [])
    assert chart.predicted == "M10 75H50V50H100V50"
    assert chart.baseline == 75.0
    assert chart.band.endswith("Z")
    assert len(re.findall(r"[ML]", chart.band)) == 2 * len(chart.points)
    few = learning_chart([0, 1, 1, 0], [], None)  # one group is no trend: a mark with its interval
    assert (few.line, few.band) == ("", "")
    ((x, y, top, bottom),) = few.marks
    assert (x, y) == (50.0, 50.0)
    assert top < y < bottom
    empty = learning_chart([], [], None)
    assert (empty.line, empty.band, empty.predicted, empty.baseline) == ("", "", "", None)


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (1, [0, 1]),
        (5, [0, 1, 2, 3, 4, 5]),
        (63, [0, 20, 40, 60, 80]),
        (5000, [0, 1000, 2000, 3000, 4000, 5000]),
    ],
)
def test_ticks_are_round_and_reach_the_last_label(most, ticks):
    assert even_ticks(most) == ticks


def test_small_weights_have_no_colour_even_where_nothing_is_larger():
    assert heat(-0.04, 0.04) == "heat-0"
    assert heat(0.3, 0.3) == "heat-p2"
    assert heat(-5.0, 5.0) == "heat-n4"


def test_a_small_curve_of_one_part_is_a_line_across():
    assert spark([(3, 4, 1)], 16) == "M0 75L100 75"
    assert spark([], 16) == ""
    assert spark([(0, 2, 0), (1, 2, 2)], 2) == "M25 100L75 0"


@pytest.mark.parametrize(
    ("value", "largest", "shown"),
    [
        (1.0, 1.0, "heat-p4"),
        (-0.3, 1.0, "heat-n2"),
        (0.001, 1.0, "heat-0"),
        (0.0, 0.0, "heat-0"),
        (2.0, 1.0, "heat-p4"),
    ],
)
def test_a_cell_shows_its_sign_and_its_size(value, largest, shown):
    assert heat(value, largest) == shown
