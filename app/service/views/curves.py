"""The series that a dashboard draws: how often episodes were good, and what the model expected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

MOST_POINTS = 200
_Z = 1.959963984540054  # of a 95 % interval


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


def wilson(good: int, total: int) -> tuple[float, float]:
    """The Wilson score interval of a share, at 95 %."""
    share, square = good / total, _Z**2
    centre = (share + square / (2 * total)) / (1 + square / total)
    spread = math.sqrt(share * (1 - share) / total + square / (4 * total**2))
    half = _Z * spread / (1 + square / total)
    return max(0.0, centre - half), min(1.0, centre + half)


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
