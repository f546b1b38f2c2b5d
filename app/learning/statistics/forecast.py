"""Forecast of the number of labels that an agent still needs; it says when it does not know.

The model: the probability that an episode is good after n labels grows as

    p(n) = a + (c - a) r(n / m),

from ``a`` at the start to ``c`` in the end, with half of the rise after ``m`` labels. The rise r(x)
is 1 - 2^-x, or x^k / (1 + x^k) with k = 1, 2 or 4: steady, or late and sudden. The prior is flat: a
and c are the smaller and the larger of two uniform numbers, log m is uniform between 1 and 100 000
labels, and the four rises are equally likely. Bayes' rule on a grid weighs every curve by its
likelihood, and the forecast is the posterior distribution of the label at which the curve reaches
the target. Its interval holds the truth with probability 1 - ERROR if the truth is such a curve;
each side misses at most half as often. A curve that never reaches the target counts as infinitely
many labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.learning.arrays import Floats

ERROR = 0.1  # the probability that the interval misses the truth
SHARE = 0.9  # the target is this share of the predicted value
FEWEST_LABELS = 20
FARTHEST = 1_000_000  # labels; more count as never
_GROUPS = 48
_LEVELS, _MIDDLES = 22, 32  # grid points for a and c, and for m
_ZOOMS = 5
_NEGLIGIBLE = 1e-3  # share of the largest likelihood below which a curve is left out
_POWERS = np.array([1.0, 2.0, 4.0])


@dataclass(frozen=True)
class Forecast:
    """How many more labels until the success rate reaches ``target``.

    The number is between ``low`` and ``high`` with probability 1 - ERROR; ``high`` is None where
    the rate may never reach the target. ``why`` explains the forecast in one sentence.
    """

    kind: Literal["unknown", "reached", "expected"]
    why: str
    target: float | None = None
    labels: int = 0  # the number of labels behind the forecast
    low: int | None = None
    middle: int | None = None
    high: int | None = None


def forecast(outcomes: Sequence[tuple[int, int]], labels: int, target: float | None) -> Forecast:
    """Forecast from (labels known when it was played, label) of every episode the agent played.

    ``labels`` is the number of all labels so far.
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
    """Values in increasing order, possibly infinite, with their probabilities."""

    values: Floats
    chances: Floats

    def quantiles(self, levels: Sequence[float]) -> list[float]:
        """The quantiles at these levels."""
        places = np.searchsorted(np.cumsum(self.chances), np.asarray(levels) * self.chances.sum())
        return [float(self.values[min(int(i), len(self.values) - 1)]) for i in places]


def labels_needed(outcomes: Sequence[tuple[int, int]], target: float) -> Distribution:
    """The distribution of the total number of labels at which the rate reaches ``target``."""
    groups, part = _grouped(outcomes), _WHOLE
    for _ in range(_ZOOMS):  # with many labels the posterior is narrower than a coarse grid
        curves = _curves(part)
        weights = _weights(curves, *groups)
        closer = _likely(curves, weights, part)
        if all(_width(new) > 0.7 * _width(old) for new, old in zip(closer, part, strict=True)):
            break
        part = closer
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
    """Group neighbouring outcomes: mean position, number of good labels, number of labels."""
    parts = np.array_split(
        np.asarray(sorted(outcomes), dtype=np.float64), min(_GROUPS, len(outcomes))
    )
    at = np.array([part[:, 0].mean() for part in parts])
    good = np.array([part[:, 1].sum() for part in parts])
    return at, good, np.array([float(len(part)) for part in parts])


def rises(x: Floats) -> Floats:
    """Every rise r(x), along one more axis."""
    powers = x[..., None] ** -_POWERS
    return np.concatenate([1.0 - 2.0 ** -x[..., None], 1.0 / (1.0 + powers)], axis=-1)


def rises_at(share: Floats) -> Floats:
    """The x at which every rise r(x) equals ``share`` in (0, 1), along one more axis."""
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
        """The shape of an array with one value for each curve."""
        return len(self.first), len(self.middle), 1 + len(_POWERS)

    def success(self, labels: float) -> Floats:
        """p(n) of every curve."""
        risen = rises(max(labels, 1e-9) / self.middle)
        way = (self.last - self.first)[:, None, None]
        return np.asarray(self.first[:, None, None] + way * risen)

    def reaches(self, target: float) -> Floats:
        """The n with p(n) = target: 0 if it starts above, infinity if it ends below."""
        n = np.full(self.shape, np.inf)
        n[self.first >= target] = 0.0
        rising = (self.first < target) & (self.last > target)
        share = (target - self.first[rising]) / (self.last[rising] - self.first[rising])
        n[rising] = self.middle[:, None] * rises_at(share)[:, None, :]
        n[n > FARTHEST] = np.inf
        return n


Range = tuple[float, float]
PriorRange = tuple[Range, Range, Range]  # of a, c and log m
_WHOLE: PriorRange = ((0.0, 1.0), (0.0, 1.0), (0.0, math.log(1e5)))


def _width(interval: Range) -> float:
    return interval[1] - interval[0]


def _centres(interval: Range, count: int) -> Floats:
    return interval[0] + _width(interval) * (np.arange(count) + 0.5) / count


def _curves(part: PriorRange) -> _Curves:
    """An even grid over a part of the prior's range."""
    first, last = np.meshgrid(_centres(part[0], _LEVELS), _centres(part[1], _LEVELS), indexing="ij")
    rising = first <= last
    return _Curves(first[rising], last[rising], np.exp(_centres(part[2], _MIDDLES)))


def _likely(curves: _Curves, weights: Floats, part: PriorRange) -> PriorRange:
    """The part of the range that holds every curve of some weight, with a margin of cells."""
    kept = weights > _NEGLIGIBLE * weights.max()
    pairs, middles = kept.any(axis=(1, 2)), kept.any(axis=(0, 2))
    return (
        _around(curves.first[pairs], part[0], _LEVELS, _WHOLE[0]),
        _around(curves.last[pairs], part[1], _LEVELS, _WHOLE[1]),
        _around(np.log(curves.middle[middles]), part[2], _MIDDLES, _WHOLE[2]),
    )


def _around(values: Floats, part: Range, count: int, whole: Range) -> Range:
    margin = 1.5 * _width(part) / count
    return max(whole[0], float(values.min()) - margin), min(whole[1], float(values.max()) + margin)
