"""Charts as SVG paths. They are drawn on the server, so that pages work without scripts.

The drawing area is 100 wide and 100 high, with the origin in the upper left corner. A page
stretches it to its own width and writes the labels in HTML.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.service.views.curves import wilson

WIDE = HIGH = 100.0
_POINTS = 40
_FEWEST = 12  # the fewest labels in a point of the observed curve, if there are enough


@dataclass(frozen=True)
class Observed:
    """The share of good labels in a group of neighbours, with its 95 % interval."""

    first: int  # labels before the group
    labels: int  # labels to its end
    success: float
    low: float
    high: float

    @property
    def middle(self) -> float:
        """Where it is drawn."""
        return (self.first + self.labels) / 2


@dataclass(frozen=True)
class CurveChart:
    """The learning curve as paths, with the numbers of its labels."""

    points: list[Observed]
    line: str
    band: str
    predicted: str
    baseline: float | None  # how far from the top; None where it is not known
    most: int  # labels at the right edge


def groups(labels: Sequence[int]) -> list[Observed]:
    """Labels in order, in at most 40 groups of at least 12 labels, if there are enough."""
    n = len(labels)
    count = max(1, min(_POINTS, n // _FEWEST))
    found = []
    for i in range(count if n else 0):
        first, end = i * n // count, (i + 1) * n // count
        good = sum(labels[first:end])
        low, high = wilson(good, end - first)
        found.append(Observed(first, end, good / (end - first), low, high))
    return found


def learning_chart(
    labels: Sequence[int], policies: Sequence[Any], baseline: float | None
) -> CurveChart:
    """Observed success with its interval, and the value of each policy, by number of labels."""
    points = groups(labels)
    most = max([len(labels), 1, *(row.labels for row in policies)])
    # From the first label to the last, so that a single group is a line too.
    edges = (
        [points[0].first, *(point.middle for point in points), points[-1].labels] if points else []
    )
    drawn = list(zip(edges, [*points[:1], *points, *points[-1:]], strict=True))
    upper = [(x, point.high) for x, point in drawn]
    lower = [(x, point.low) for x, point in reversed(drawn)]
    promised = [(row.labels, row.predicted) for row in policies if row.predicted is not None]
    if promised:
        promised.append((most, promised[-1][1]))
    return CurveChart(
        points,
        path([(x, point.success) for x, point in drawn], most),
        f"{path(upper + lower, most)}Z" if points else "",
        stairs(promised, most),
        None if baseline is None else round(HIGH * (1 - baseline), 2),
        most,
    )


def path(points: Sequence[tuple[float, float]], most: float) -> str:
    """Points (x from 0 to ``most``, share) as a path."""
    places = [f"{_number(WIDE * x / most)} {_number(HIGH * (1 - y))}" for x, y in points]
    return "M" + "L".join(places) if places else ""


def stairs(points: Sequence[tuple[float, float]], most: float) -> str:
    """Points as a step function: each value holds until the next point."""
    if not points:
        return ""
    parts = [path(points[:1], most)]
    parts += [f"H{_number(WIDE * x / most)}V{_number(HIGH * (1 - y))}" for x, y in points[1:]]
    return "".join(parts)


def spark(parts: Sequence[tuple[int, int, int]], count: int) -> str:
    """The small curve of an agent, from (part, labels, good ones)."""
    points = [((part + 0.5) / count, good / labels) for part, labels, good in parts]
    if len(points) == 1:  # a line needs two points
        points = [(0.0, points[0][1]), (1.0, points[0][1])]
    return path(points, 1.0)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def heat(value: float, largest: float) -> str:
    """The CSS class of a cell: its sign, and its size in four steps."""
    if largest <= 0 or not math.isfinite(value) or abs(value) < largest / 100:
        return "heat-0"
    return f"heat-{'p' if value > 0 else 'n'}{math.ceil(4 * min(1.0, abs(value) / largest))}"
