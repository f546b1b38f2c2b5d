"""The l2-regularised maximum-likelihood estimate of the weights (paper, w_hat_t).

The loss is strictly convex, so the estimate is unique: the starting point and the order of the
labels change only the last digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidValue, SnapshotError
from app.learning.arrays import Arrays, Floats
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.logistic.line_search import search_line
from app.learning.logistic.loss import LogisticLoss, Point
from app.learning.logistic.newton import ConjugateDirections, Directions, InverseDirections

DENSE_LIMIT = 1000  # up to here a D x D matrix is held
GRADIENT_TOLERANCE = 1e-8
STEP_TOLERANCE = 3e-11  # the distance still to go, relative to 1 + max |theta|
ITERATION_LIMIT = 200


@dataclass(frozen=True)
class LogisticFit:
    """The estimate, and whether the solver converged to it."""

    weights: Floats  # (d,)
    intercept: float  # 0 without an intercept
    converged: bool
    iterations: int
    gradient_norm: float
    message: str

    def logit(self, indices: NDArray[np.int64], values: Floats) -> float:
        """The logit w.phi + c of one sparse row."""
        return float(self.weights[indices] @ values) + self.intercept


class LogisticEstimator:
    """Fits a growing data set repeatedly, with a warm start.

    It keeps the last estimate and, up to ``dense_limit`` coefficients, an inverse of an earlier
    Hessian. Both only save time.
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
        tolerance: float | None = None,
    ) -> LogisticFit:
        """Minimise the loss of ``data``.

        ``precision`` has shape (d,): the weights' prior is N(0, 1/precision_j). Without an
        ``intercept_precision`` there is no intercept, as in the paper. A ``tolerance`` ends the fit
        at the first gradient that is no larger; without one see ``minimise``.
        """
        if tolerance is not None and not tolerance > 0.0:
            raise InvalidValue("tolerance", "a number above 0, or none")
        loss = LogisticLoss.of(data, precision, intercept_precision)
        size = loss.design.size
        if self._theta is None or len(self._theta) != size or loss.design.count == 0:
            self._theta = np.zeros(size)
        self._directions = self._fitting(size)
        minimum = minimise(loss, self._theta, self._directions, tolerance)
        self._theta = minimum.point.theta
        return _fit(loss, minimum)

    def arrays(self) -> Arrays:
        """The state that the next fit starts from; a restored estimator gives equal bits."""
        arrays: Arrays = {}
        if self._theta is not None:
            arrays["theta"] = self._theta.copy()
        if isinstance(self._directions, InverseDirections):
            arrays |= self._directions.arrays()
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned."""
        theta = arrays.get("theta")
        if theta is not None and (theta.ndim != 1 or not np.isfinite(theta).all()):
            raise SnapshotError("estimate: expected a vector of finite numbers")
        directions = InverseDirections.from_arrays(arrays)
        self._theta = None if theta is None else np.array(theta, dtype=np.float64)
        self._directions = directions

    def _fitting(self, size: int) -> Directions:
        wanted = InverseDirections if size <= self._dense_limit else ConjugateDirections
        return self._directions if isinstance(self._directions, wanted) else wanted()


def fit_logistic(
    data: LabelledTrajectories, precision: Floats, intercept_precision: float | None = None
) -> LogisticFit:
    """One fit from scratch; see ``LogisticEstimator.fit``."""
    return LogisticEstimator().fit(data, precision, intercept_precision)


@dataclass(frozen=True)
class Minimum:
    """The point that `minimise` ended at, and whether it is the minimum."""

    point: Point
    converged: bool
    iterations: int
    message: str


def minimise(
    loss: LogisticLoss, theta: Floats, directions: Directions, tolerance: float | None = None
) -> Minimum:
    """Minimise ``loss`` by Newton's method from ``theta``.

    It stops at a gradient norm of at most ``tolerance``. Without a tolerance it continues below
    ``GRADIENT_TOLERANCE`` until the next step is below ``STEP_TOLERANCE``. It also stops where the
    gradient no longer shrinks, because of rounding, and where a line search fails.
    """
    directions.begin(loss)
    point, iterations, failure = loss.at(theta), 0, ""
    while iterations < ITERATION_LIMIT and point.gradient_norm > (tolerance or 0.0):
        direction = directions.direction(point)
        reach = float(np.abs(direction).max())
        close = STEP_TOLERANCE * (1.0 + float(np.abs(point.theta).max()))
        if tolerance is None and point.gradient_norm <= GRADIENT_TOLERANCE and reach <= close:
            break
        search = search_line(loss, point, direction)
        after = search.point
        iterations += 1
        directions.learn(point, after)
        if after.gradient_norm > 0.5 * point.gradient_norm and reach <= close:
            point = min(point, after, key=lambda p: p.gradient_norm)
            break
        if not search.converged:
            failure = f"the line search {search.message}"
            break
        point = after
    directions.end(iterations)
    return _minimum(loss, point, iterations, tolerance or GRADIENT_TOLERANCE, failure)


def _minimum(
    loss: LogisticLoss, point: Point, iterations: int, tolerance: float, failure: str
) -> Minimum:
    norm = point.gradient_norm
    if norm <= tolerance:
        return Minimum(point, True, iterations, "converged")
    if norm <= loss.rounding(point):
        return Minimum(point, True, iterations, "converged as far as rounding allows")
    reason = failure or f"stopped after {iterations} iterations"
    return Minimum(point, False, iterations, f"{reason}; the gradient norm is {norm:.3g}")


def _fit(loss: LogisticLoss, minimum: Minimum) -> LogisticFit:
    theta, intercept = minimum.point.theta, 0.0
    if loss.design.intercept:
        theta, intercept = theta[:-1], float(theta[-1])
    return LogisticFit(
        theta,
        intercept,
        minimum.converged,
        minimum.iterations,
        minimum.point.gradient_norm,
        minimum.message,
    )
