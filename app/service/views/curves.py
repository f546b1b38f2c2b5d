"""The series that a dashboard draws: how often episodes were good, and what the model expected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from app.learning.statistics.intervals import wilson

__all__ = ["observed", "outcomes", "thinned", "wilson"]

MOST_POINTS = 200


def observed(labels: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """(episode, label) in order, in at most 200 groups: the share of good ones, its interval."""
    size = max(1, math.ceil(len(labels) / MOST_POINTS))
    points = []
    for first in range(0, len(labels), size):
        group = labels[first : first + size]
        good = sum(label for _, label in group)
        low, high = wilson(good, len(group))
        points.append(
            {
                "episode": group[-1][0],
                "labels": first + len(group),
                "success": good / len(group),
                "low": low,
                "high": high,
            }
        )
    return points


def outcomes(verdicts: Sequence[Any]) -> list[tuple[int, int]]:
    """(labels before it, label) of every labelled episode that was played to learn.

    Several verdicts on an episode are several labels, and one outcome: they go together.
    """
    found: dict[int, tuple[int, int]] = {}
    for before, one in enumerate(verdicts):
        if one.mode == "learn" and one.outcome is not None:
            found.setdefault(one.number, (before, one.outcome))
    return list(found.values())


def thinned(rows: Sequence[Any]) -> list[Any]:
    """At most 200 of the rows, evenly, the last among them."""
    if len(rows) <= MOST_POINTS:
        return list(rows)
    places = {round(i * (len(rows) - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)}
    return [rows[place] for place in sorted(places)]
