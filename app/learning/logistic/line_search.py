"""Line search: the step length along a descent direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.learning.arrays import Floats
from app.learning.logistic.loss import LogisticLoss, Point

SEARCH_LIMIT = 60
ENOUGH = 0.1  # share of the first slope that a step may leave
LARGEST_GROWTH = 4.0  # of a step that was too short
ARMIJO = 1e-4
ROUNDING = 1e-13  # relative error of a loss
MILD = 0.5  # change of every logit up to which the curvature along the line is nearly constant


@dataclass(frozen=True)
class LineSearch:
    """The point that a line search ended at; without convergence its loss may be higher."""

    point: Point
    converged: bool
    iterations: int
    message: str


def search_line(loss: LogisticLoss, point: Point, direction: Floats) -> LineSearch:
    """Find a point near the minimum along ``direction``, with a loss not above that of ``point``.

    Along the line the logits change linearly: a trial step costs O(n) and no product with X, so a
    precise search is cheap. After one more label the first direction is Newton's for the old
    data, and the minimum along it is Newton's step for the new data (Sherman and Morrison).
    """
    change = loss.design.forward(direction)
    first = float(point.gradient @ direction)
    weighted = loss.precision * direction
    linear, quadratic = float(weighted @ point.theta), float(weighted @ direction)
    low, low_slope, high, high_slope = 0.0, first, np.inf, np.inf
    step = 1.0
    converged, iterations = False, 0
    while not converged and iterations < SEARCH_LIMIT:
        iterations += 1
        logits = point.logits + step * change
        residual = loss.residual(logits)
        slope = float(residual @ change) + linear + step * quadratic
        theta = point.theta + step * direction
        if abs(slope) <= -ENOUGH * first:
            mild = slope <= 0.0 or step * float(np.abs(change).max()) <= MILD
            converged = mild or _lower(loss, point, theta, logits, ARMIJO * step * first)
            if converged:
                break
        if slope > 0.0:
            high, high_slope = step, slope
        else:
            low, low_slope = step, slope
        step = _next(low, low_slope, high, high_slope, first)
    message = "converged" if converged else f"stopped after {iterations} trial steps"
    return LineSearch(loss.known(theta, logits, residual), converged, iterations, message)


def _lower(
    loss: LogisticLoss, point: Point, theta: Floats, logits: Floats, decrease: float
) -> bool:
    """Whether the loss at ``theta`` is below that at ``point`` by enough.

    Only trial steps past the minimum need this test; before it the slope is negative all the way.
    If no logit changes by more than 1/2, it is not needed either: |mu''| <= mu' bounds the relative
    change of the curvature along the line by a factor exp(1/2), so the slope is nearly linear, and
    a tenth of it left beyond the minimum proves the descent.
    """
    before = loss.value(point.theta, point.logits)
    return loss.value(theta, logits) <= before + decrease + ROUNDING * abs(before)


def _next(low: float, low_slope: float, high: float, high_slope: float, first: float) -> float:
    """The next trial step: the secant's, kept inside the bracket, or a limited growth."""
    if np.isinf(high):
        rise = low_slope - first
        return min(low * first / -rise if rise > 0.0 else np.inf, LARGEST_GROWTH * low)
    width = high - low
    secant = low - low_slope * width / (high_slope - low_slope)
    return min(max(secant, low + 0.1 * width), high - 0.1 * width)
