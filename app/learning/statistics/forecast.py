"""How many more labels it will take: a forecast that says so when it does not know.

The chance that an episode is good after n labels is taken to grow as

    p(n) = a + (c - a) r(n / m),

from ``a`` at the start to ``c`` in the end, half of the way after ``m`` labels. The rise r(x) is
1 - 2^-x, or x^k / (1 + x^k) with k = 1, 2 or 4: slow all along, or late and sudden. Nothing is
known beforehand: a and c are the smaller and the larger of two uniform numbers, log m is uniform
between 1 and 100 000 labels, and every rise is as likely. Bayes' rule on a grid of such curves
weighs every curve by how well it explains the labels so far, and the forecast is the weighted
distribution of the label at which the curve reaches the target. Its interval holds the truth with
probability 1 - ERROR where the truth is such a curve; each side is missed at most half as often. A
curve that never gets there counts as infinitely many labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.learning.arrays import Floats

ERROR = 0.1  # the interval is wrong this often
SHARE = 0.9  # of the predicted value is the target
FEWEST_LABELS = 20
FARTHEST = 1_000_000  # labels; what takes longer counts as never
_GROUPS = 48
_LEVELS, _MIDDLES = 22, 32  # of the grid
_ZOOMS = 5
_NEGLIGIBLE = 1e-3  # likelihood, of the largest
_POWERS = np.array([1.0, 2.0, 4.0])


@dataclass(frozen=True)
class Forecast:
    """How many more labels until the success rate reaches ``target``.

    ``low`` to ``high`` holds the number with probability 1 - ERROR; ``high`` is None where it may
    never get there. ``why`` is a sentence for people.
    """

    kind: Literal["unknown", "reached", "expected"]
    why: str
    target: float | None = None
    labels: int = 0  # that the forecast comes from
    low: int | None = None
    middle: int | None = None
    high: int | None = None


def forecast(outcomes: Sequence[tuple[int, int]], labels: int, target: float | None) -> Forecast:
    """From (labels known when it was played, label) of every episode that the agent played.

    ``labels`` is how many it has been given in all.
    """
    if target is None:
        return Forecast("unknown", "this agent predicts no success rate to aim for")
    if len(outcomes) < FEWEST_LABELS:
        more = FEWEST_LABELS - len(outcomes)
        return Forecast(
            "unknown",
            f"too few labels: a forecast begins after {FEWEST_LABELS}, {more} more",
            target,
            len(outcomes),
        )
    times = labels_needed(outcomes, target)
    low, middle, high = times.quantiles((ERROR / 2, 0.5, 1 - ERROR / 2))
    if high <= labels:
        why = "the success rate has reached the target"
        return Forecast("reached", why, target, len(outcomes), 0, 0, 0)
    if not math.isfinite(middle):
        why = "the labels so far give no sign that it will get there"
        return Forecast("unknown", why, target, len(outcomes))
    return Forecast(
        "expected",
        "as the success rate has grown so far"
        if math.isfinite(high)
        else "it may also never get there: the labels so far do not rule that out",
        target,
        len(outcomes),
        max(0, math.ceil(low) - labels),
        max(0, math.ceil(middle) - labels),
        max(0, math.ceil(high) - labels) if math.isfinite(high) else None,
    )


@dataclass(frozen=True)
class Distribution:
    """Values in order, infinity among them, with their probabilities."""

    values: Floats
    chances: Floats

    def quantiles(self, levels: Sequence[float]) -> list[float]:
        """The values at which the probability passes each level."""
        places = np.searchsorted(np.cumsum(self.chances), np.asarray(levels) * self.chances.sum())
        return [float(self.values[min(int(i), len(self.values) - 1)]) for i in places]


def labels_needed(outcomes: Sequence[tuple[int, int]], target: float) -> Distribution:
    """How many labels in all bring the success rate to ``target``."""
    groups, box = _grouped(outcomes), _WHOLE
    for _ in range(_ZOOMS):  # many labels say more than a coarse grid can tell
        curves = _curves(box)
        weights = _weights(curves, *groups)
        closer = _likely(curves, weights, box)
        if all(_width(new) > 0.7 * _width(old) for new, old in zip(closer, box, strict=True)):
            break
        box = closer
    reached = curves.reaches(target).ravel()
    order = np.argsort(reached, kind="stable")
    chances = weights.ravel()[order]
    return Distribution(reached[order], chances / chances.sum())


def _weights(curves: _Curves, at: Floats, good: Floats, total: Floats) -> Floats:
    """The likelihood of every curve, up to a factor."""
    logs = np.zeros(curves.shape)
    for n, g, t in zip(at.tolist(), good.tolist(), total.tolist(), strict=True):
        chance = curves.success(n)
        logs += g * np.log(chance) + (t - g) * np.log1p(-chance)
    return np.asarray(np.exp(logs - logs.max()))


def _grouped(outcomes: Sequence[tuple[int, int]]) -> tuple[Floats, Floats, Floats]:
    """Neighbours together: where they are, how many are good, how many there are."""
    parts = np.array_split(
        np.asarray(sorted(outcomes), dtype=np.float64), min(_GROUPS, len(outcomes))
    )
    at = np.array([part[:, 0].mean() for part in parts])
    good = np.array([part[:, 1].sum() for part in parts])
    return at, good, np.array([float(len(part)) for part in parts])


def rises(x: Floats) -> Floats:
    """Every r(x), one more axis."""
    powers = x[..., None] ** -_POWERS
    return np.concatenate([1.0 - 2.0 ** -x[..., None], 1.0 / (1.0 + powers)], axis=-1)


def rises_at(share: Floats) -> Floats:
    """The x at which every r(x) is a share in (0, 1), one more axis."""
    odds = (share / (1.0 - share))[..., None]
    return np.concatenate([-np.log2(1.0 - share)[..., None], odds ** (1.0 / _POWERS)], axis=-1)


@dataclass(frozen=True)
class _Curves:
    """A grid of curves, of shape (pairs of levels, middles, rises)."""

    first: Floats  # (pairs,)
    last: Floats  # (pairs,)
    middle: Floats  # (middles,)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of anything that has one value for each curve."""
        return len(self.first), len(self.middle), 1 + len(_POWERS)

    def success(self, labels: float) -> Floats:
        """p(n) of every curve."""
        risen = rises(max(labels, 1e-9) / self.middle)
        way = (self.last - self.first)[:, None, None]
        return np.asarray(self.first[:, None, None] + way * risen)

    def reaches(self, target: float) -> Floats:
        """The n at which p(n) is the target: 0 if it starts there, infinity if it ends below."""
        n = np.full(self.shape, np.inf)
        n[self.first >= target] = 0.0
        rising = (self.first < target) & (self.last > target)
        share = (target - self.first[rising]) / (self.last[rising] - self.first[rising])
        n[rising] = self.middle[:, None] * rises_at(share)[:, None, :]
        n[n > FARTHEST] = np.inf
        return n


Range = tuple[float, float]
Box = tuple[Range, Range, Range]  # of a, c and log m
_WHOLE: Box = ((0.0, 1.0), (0.0, 1.0), (0.0, math.log(1e5)))


def _width(one: Range) -> float:
    return one[1] - one[0]


def _centres(one: Range, count: int) -> Floats:
    return one[0] + _width(one) * (np.arange(count) + 0.5) / count


def _curves(box: Box) -> _Curves:
    """A grid evenly over a part of what the model takes to be possible."""
    first, last = np.meshgrid(_centres(box[0], _LEVELS), _centres(box[1], _LEVELS), indexing="ij")
    rising = first <= last
    return _Curves(first[rising], last[rising], np.exp(_centres(box[2], _MIDDLES)))


def _likely(curves: _Curves, weights: Floats, box: Box) -> Box:
    """The part that holds every curve that counts, with the cells around it."""
    kept = weights > _NEGLIGIBLE * weights.max()
    pairs, middles = kept.any(axis=(1, 2)), kept.any(axis=(0, 2))
    return (
        _around(curves.first[pairs], box[0], _LEVELS, _WHOLE[0]),
        _around(curves.last[pairs], box[1], _LEVELS, _WHOLE[1]),
        _around(np.log(curves.middle[middles]), box[2], _MIDDLES, _WHOLE[2]),
    )


def _around(values: Floats, part: Range, count: int, whole: Range) -> Range:
    margin = 1.5 * _width(part) / count
    return max(whole[0], float(values.min()) - margin), min(whole[1], float(values.max()) + margin)
