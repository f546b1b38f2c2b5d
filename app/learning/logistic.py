"""The regularised maximum-likelihood estimate of the label's weights (paper, w_hat_t).

The loss is strictly convex, so the estimate is unique: where the iteration started, and in which
order labels came, changes nothing but the last digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import SnapshotError
from app.learning.design import Floats
from app.learning.labelled import LabelledTrajectories
from app.learning.loss import LogisticLoss, Point
from app.learning.newton import ConjugateDirections, Directions, FactorDirections

DENSE_LIMIT = 1000  # up to here a D x D factor is held
GRADIENT_TOLERANCE = 1e-8
STEP_TOLERANCE = 1e-10  # the distance still to go, relative to 1 + max |theta|
ITERATION_LIMIT = 200
SEARCH_LIMIT = 60
ENOUGH = 0.5  # share of the first slope that a step may leave
ARMIJO = 1e-4


@dataclass(frozen=True)
class LogisticFit:
    """The estimate, and whether it is one."""

    weights: Floats  # (d,)
    intercept: float  # 0 without an intercept
    converged: bool
    iterations: int
    gradient_norm: float

    def logit(self, indices: NDArray[np.int64], values: Floats) -> float:
        """The logit w.phi + c of one sparse row."""
        return float(self.weights[indices] @ values) + self.intercept


class LogisticEstimator:
    """Fits one growing data set again and again, each time from where it stood.

    It keeps the last estimate and, up to ``dense_limit`` coefficients, a Cholesky factor of an
    earlier Hessian. Both only save work.
    """

    def __init__(self, dense_limit: int = DENSE_LIMIT) -> None:
        self._dense_limit = dense_limit
        self._theta: Floats | None = None
        self._directions: Directions | None = None

    def fit(
        self,
        data: LabelledTrajectories,
        precision: Floats,
        intercept_precision: float | None = None,
    ) -> LogisticFit:
        """Minimise the loss of ``data``.

        ``precision`` has shape (d,): the weights' prior is N(0, 1/precision_j). Without an
        ``intercept_precision`` there is no intercept, as in the paper.
        """
        loss = LogisticLoss.of(data, precision, intercept_precision)
        size = loss.design.size
        if self._theta is None or len(self._theta) != size or loss.design.count == 0:
            self._theta = np.zeros(size)
        self._directions = self._fitting(size)
        point, iterations = minimise(loss, self._theta, self._directions)
        self._theta = point.theta
        return _result(loss, point, iterations)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the next fit starts from, so that a restored estimator goes on bit by bit."""
        arrays: dict[str, NDArray[Any]] = {}
        if self._theta is not None:
            arrays["theta"] = self._theta.copy()
        if isinstance(self._directions, FactorDirections):
            arrays |= self._directions.arrays()
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from ``arrays``."""
        theta = arrays.get("theta")
        if theta is not None and (theta.ndim != 1 or not np.isfinite(theta).all()):
            raise SnapshotError("estimate: expected a vector of finite numbers")
        directions = FactorDirections.from_arrays(arrays)
        self._theta = None if theta is None else np.array(theta, dtype=np.float64)
        self._directions = directions

    def _fitting(self, size: int) -> Directions:
        wanted = FactorDirections if size <= self._dense_limit else ConjugateDirections
        return self._directions if isinstance(self._directions, wanted) else wanted()


def fit_logistic(
    data: LabelledTrajectories, precision: Floats, intercept_precision: float | None = None
) -> LogisticFit:
    """One fit from scratch; see ``LogisticEstimator.fit``."""
    return LogisticEstimator().fit(data, precision, intercept_precision)


def minimise(loss: LogisticLoss, theta: Floats, directions: Directions) -> tuple[Point, int]:
    """The minimum of ``loss`` reached from ``theta``, and the steps it took.

    It goes on below ``GRADIENT_TOLERANCE`` until the step still to make is below ``STEP_TOLERANCE``
    or the gradient no longer shrinks, which is where rounding begins.
    """
    directions.begin(loss)
    point = loss.at(theta)
    iterations = 0
    while iterations < ITERATION_LIMIT and point.gradient_norm > 0.0:
        direction = directions.direction(point)
        reach = float(np.abs(direction).max())
        close = STEP_TOLERANCE * (1.0 + float(np.abs(point.theta).max()))
        if point.gradient_norm <= GRADIENT_TOLERANCE and reach <= close:
            break
        after = _search(loss, point, direction)
        iterations += 1
        directions.learn(point, after)
        if after.gradient_norm > 0.5 * point.gradient_norm and reach <= close:
            point = min(point, after, key=lambda p: p.gradient_norm)
            break
        point = after
    directions.end(iterations)
    return point, iterations


def _search(loss: LogisticLoss, point: Point, direction: Floats) -> Point:
    """The point after a step along ``direction`` that surely descends.

    Along the line only the logits change, and linearly: a trial costs O(n) and no product with X.
    The slope along the line rises, so a trial that still has slope <= 0 has descended; one with
    slope > 0 must show it by the value. The first trial is Newton's own step.
    """
    change = loss.design.forward(direction)
    first = float(point.gradient @ direction)
    weighted = loss.precision * direction
    linear, quadratic = float(weighted @ point.theta), float(weighted @ direction)
    value = None
    low, low_slope, high, high_slope = 0.0, first, np.inf, np.inf
    step = 1.0
    for _ in range(SEARCH_LIMIT):
        logits = point.logits + step * change
        slope = float(loss.residual(logits) @ change) + linear + step * quadratic
        if slope <= 0.0 and (step == 1.0 or slope >= ENOUGH * first):
            break
        if 0.0 < slope <= -ENOUGH * first:
            if value is None:
                value = loss.value(point.theta, point.logits)
            bound = value + ARMIJO * step * first + 1e-13 * abs(value)
            if loss.value(point.theta + step * direction, logits) <= bound:
                break
        if slope > 0.0:
            high, high_slope = step, slope
        else:
            low, low_slope = step, slope
        width = high - low
        secant = low - low_slope * width / (high_slope - low_slope)
        step = min(max(secant, low + 0.1 * width), high - 0.1 * width)
    return loss.at(point.theta + step * direction, point.logits + step * change)


def _result(loss: LogisticLoss, point: Point, iterations: int) -> LogisticFit:
    norm = point.gradient_norm
    converged = norm <= GRADIENT_TOLERANCE or norm <= loss.rounding(point)
    if not loss.design.intercept:
        return LogisticFit(point.theta, 0.0, converged, iterations, norm)
    return LogisticFit(point.theta[:-1], float(point.theta[-1]), converged, iterations, norm)
