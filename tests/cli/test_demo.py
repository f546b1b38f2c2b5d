"""`plaudit demo`."""

import subprocess
import sys

import pytest

from app.cli.demo import good_shares, summary
from plaudit import CurveView, DemoTaskView, DemoView, ObservedPoint


def curve(labels, size=1):
    """The curve of single labels in groups of ``size``."""
    points = []
    for end in range(size, len(labels) + 1, size):
        success = sum(labels[end - size : end]) / size
        points.append(ObservedPoint(end - 1, end, success, 0.0, 1.0))
    return CurveView("agt_x", points, [])


def test_shares_are_over_ten_labels_and_the_newest_is_complete():
    assert good_shares(curve([0] * 15 + [1] * 10)) == [0.0, 1.0]
    assert good_shares(curve([1] * 9)) == []


@pytest.mark.parametrize("size", [1, 5])
def test_many_labels_make_few_columns_and_each_label_counts_once(size):
    labels = [0, 1] * 500
    shares = good_shares(curve(labels, size))
    assert 20 <= len(shares) <= 30
    assert sum(shares) / len(shares) == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_the_whole_demo():
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "demo", "--no-stay", "--episodes", "20"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "Watch it at http://127.0.0.1:" in text
    for title in ("Frozen lake", "The paper's grid"):
        assert f"{title}: random play succeeds in" in text
    assert text.count("After 20 labels the agent succeeds in") == 2


def test_a_summary_without_evaluation_counts_the_labels():
    task = DemoTaskView("grid", "The grid", "")
    demo = DemoView("agt_x", task, "people", False, 5, 5, 0, 0, 0.014, 1.0)

    class View:
        class episodes:  # noqa: N801
            labelled = 4

        evaluation = None

    assert summary(demo, View()) == (
        "The grid: random play succeeds in 1.4% of episodes. 4 labels were given."
    )
