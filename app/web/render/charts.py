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
from app.wire.base import JsonObject

WIDE = HIGH = 100.0
_POINTS = 40
_TREND = 3  # points that make a line
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
    def good(self) -> int:
        """How many of its labels are good."""
        return round(self.success * (self.labels - self.first))

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
    ticks: list[int]  # labels at the bottom, evenly spaced
    marks: list[tuple[float, float, float, float]]  # x, y, top, bottom of points too few for a line
    data: JsonObject  # for the script that shows numbers


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
    ticks = even_ticks(max([len(labels), 1, *(row.labels for row in policies)]))
    most = ticks[-1]
    # Fewer points than three are no trend: they are drawn as marks with their intervals.
    drawn = [(point.middle, point) for point in points] if len(points) >= _TREND else []
    upper = [(x, point.high) for x, point in drawn]
    lower = [(x, point.low) for x, point in reversed(drawn)]
    promised = [(row.labels, row.predicted) for row in policies if row.predicted is not None]
    if promised:
        promised.append((max(len(labels), promised[-1][0]), promised[-1][1]))
    return CurveChart(
        points,
        path([(x, point.success) for x, point in drawn], most),
        f"{path(upper + lower, most)}Z" if drawn else "",
        stairs(promised, most),
        None if baseline is None else round(HIGH * (1 - baseline), 2),
        most,
        ticks,
        [] if drawn else [_mark(point, most) for point in points],
        {
            "most": most,
            "points": [[p.first, p.labels, p.good, p.low, p.high] for p in points],
            "promised": promised,
            "baseline": baseline,
        },
    )


def _mark(point: Observed, most: int) -> tuple[float, float, float, float]:
    heights = (HIGH * (1 - share) for share in (point.success, point.high, point.low))
    y, top, bottom = (round(height, 2) for height in heights)
    return round(WIDE * point.middle / most, 2), y, top, bottom


def even_ticks(most: int) -> list[int]:
    """Round numbers from 0 on, at most six and evenly spaced, the last at least ``most``."""
    step = next(
        size * 10**power
        for power in range(12)
        for size in (1, 2, 5)
        if 5 * size * 10**power >= most
    )
    return list(range(0, most + step, step))[: -(-most // step) + 1]


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


_STRONG = 1.0  # log-odds that are drawn in full colour even where nothing is larger


def heat(value: float, largest: float) -> str:
    """The CSS class of a cell: its sign, and its size in four steps."""
    largest = max(largest, _STRONG)
    if not math.isfinite(value) or abs(value) < largest / 20:
        return "heat-0"
    return f"heat-{'p' if value > 0 else 'n'}{math.ceil(4 * min(1.0, abs(value) / largest))}"
