"""Units for observations: z = (x - centre) / unit, so that one unit of every dimension is alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.learning.arrays import Floats
from app.learning.continuous.ridge import one_hot, ridge
from app.learning.continuous.steps import Steps

_UNBOUNDED = 1000.0  # a box that is this many times wider than the data is ignored
_LEAST_RELEVANCE = 0.02
_WITHIN = 0.1  # of the range of the data: the least unit
_PENALTY = 1.0
_FARTHEST = 50.0  # units; observations are clipped to this distance


@dataclass(frozen=True)
class Scaling:
    """The affine map from observations to z, and the relevance of each dimension."""

    centre: Floats  # (d,)
    unit: Floats  # (d,): the change of x that one unit of z stands for
    relevance: Floats  # (d,): between 0.02 and 1; the unit is already divided by it

    def __call__(self, observations: Floats) -> Floats:
        """z of observations (..., d), held within a wide range around the data."""
        z = (observations - self.centre) / self.unit
        return np.asarray(np.clip(z, -_FARTHEST, _FARTHEST))

    def back(self, z: Floats) -> Floats:
        """The observations of z (..., d)."""
        return np.asarray(self.centre + z * self.unit)


def fit_scaling(steps: Steps, low: Floats, high: Floats, actions: int) -> Scaling:
    """Scale by data and box, and shrink dimensions whose next value cannot be predicted.

    The unit is the geometric mean of the data's range (2 % to 98 %) and the width of the box,
    divided by clip(2 R^2, 0.02, 1); R^2 is that of the dimension's next value under a ridge
    regression on the action and all present values.
    """
    bottom, top = np.percentile(steps.visited(), [2.0, 98.0], axis=0)
    unit = _units(top - bottom, high - low)
    plain = Scaling((bottom + top) / 2.0, unit, np.ones(len(unit)))
    relevance = np.clip(2.0 * _predictability(plain, steps, actions), _LEAST_RELEVANCE, 1.0)
    return Scaling(plain.centre, unit / relevance, relevance)


def _units(data: Floats, box: Floats) -> Floats:
    """sqrt(data x box); the data alone in a box without bounds, the box where data never change."""
    bounded = box <= _UNBOUNDED * data
    unit = np.where(bounded, np.sqrt(data * np.where(bounded, box, 1.0)), data)
    unit = np.maximum(unit, _WITHIN * data)  # a box that is far too small must not blow z up
    return np.where(data > 0.0, unit, np.minimum(box, 1.0))


def _predictability(scaling: Scaling, steps: Steps, actions: int) -> Floats:
    """R^2 of every dimension's next value, shape (d,); 1 while there is too little to tell."""
    d = len(scaling.unit)
    if len(steps) < 2 * (d + actions + 1):
        return np.ones(d)
    z, after = scaling(steps.before), scaling(steps.after)
    features = np.hstack([np.ones((len(z), 1)), one_hot(steps.actions, actions), z])
    left = after - features @ ridge(features, after, _PENALTY)
    spread = after.var(axis=0)
    return np.where(spread > 0.0, 1.0 - left.var(axis=0) / np.where(spread > 0.0, spread, 1.0), 0.0)
