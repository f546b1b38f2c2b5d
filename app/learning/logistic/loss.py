"""The l2-regularised logistic loss over merged labels: value, gradient and Hessian.

With theta = (w, c), z = X theta the logits, n and p the labels and the positive labels of each row,
and Lambda the diagonal matrix of prior precisions (paper, L_t in the section on algorithms):

    loss(theta) = sum_i [n_i log(1 + exp z_i) - p_i z_i] + 1/2 theta' Lambda theta
    gradient    = X' (n mu(z) - p) + Lambda theta
    Hessian     = X' diag(n mu'(z)) X + Lambda
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.errors import InvalidValue
from app.learning.arrays import Floats
from app.learning.logistic.design import Design
from app.learning.logistic.labelled import LabelledTrajectories


@dataclass(frozen=True)
class Point:
    """A coefficient vector with its logits and gradient."""

    theta: Floats  # (D,)
    logits: Floats  # (n,)
    gradient: Floats  # (D,)
    gradient_norm: float


@dataclass(frozen=True)
class LogisticLoss:
    """The loss of one data set under one prior."""

    design: Design
    counts: Floats  # (n,)
    positives: Floats  # (n,)
    precision: Floats  # (D,): the diagonal of Lambda, the intercept's last

    @classmethod
    def of(
        cls, data: LabelledTrajectories, precision: Floats, intercept_precision: float | None = None
    ) -> LogisticLoss:
        """The loss of ``data`` with prior precisions of shape (d,) and one for the intercept."""
        precision = joint_precision(precision, intercept_precision, data.dimension)
        design = data.design(intercept=intercept_precision is not None)
        return cls(design, *data.counts(), precision)

    def at(self, theta: Floats) -> Point:
        """The point ``theta``."""
        logits = self.design.forward(theta)
        return self.known(theta, logits, self.residual(logits))

    def known(self, theta: Floats, logits: Floats, residual: Floats) -> Point:
        """The point ``theta``, from its logits and residual."""
        gradient = self.design.adjoint(residual) + self.precision * theta
        return Point(theta, logits, gradient, float(np.linalg.norm(gradient)))

    def residual(self, logits: Floats) -> Floats:
        """n mu(z) - p, shape (n,), without cancellation where mu(z) is close to 0 or 1."""
        below = _logistic(-np.abs(logits))  # mu(-|z|), the smaller of mu and 1 - mu
        likely = np.where(logits >= 0, -self.positives, self.counts - self.positives)
        return np.asarray(
            likely * below + (likely + np.copysign(self.counts, logits)) * (1.0 - below)
        )

    def value(self, theta: Floats, logits: Floats) -> float:
        """The loss at ``theta``, a sum of terms >= 0 only, so that huge logits lose no digits."""
        tail = np.log1p(np.exp(-np.abs(logits)))
        wrong = np.where(logits >= 0, self.counts - self.positives, self.positives)
        data = self.counts @ tail + wrong @ np.abs(logits)
        return float(data + 0.5 * (theta @ (self.precision * theta)))

    def row_weights(self, logits: Floats) -> Floats:
        """n mu'(z), shape (n,)."""
        below = _logistic(-np.abs(logits))
        return self.counts * below * (1.0 - below)

    def hessian(self, logits: Floats) -> Floats:
        """The Hessian as a matrix, shape (D, D)."""
        hessian = self.design.gram(self.row_weights(logits))
        hessian.flat[:: len(hessian) + 1] += self.precision
        return hessian

    def rounding(self, point: Point) -> float:
        """The gradient norm that rounding alone can leave at ``point``."""
        terms = self.design.gram_diagonal(self.counts**2) + (self.precision * point.theta) ** 2
        reach = 1.0 + float(np.abs(point.logits).max(initial=0.0))
        return 32.0 * float(np.finfo(float).eps) * reach * float(np.sqrt(terms.sum()))


def joint_precision(precision: Floats, intercept: float | None, dimension: int) -> Floats:
    """The diagonal of Lambda, shape (D,); raises `InvalidValue` for improper precisions."""
    precision = np.asarray(precision, dtype=np.float64)
    if precision.shape != (dimension,):
        raise InvalidValue("precision", f"shape {(dimension,)}, got {precision.shape}")
    if not (np.isfinite(precision).all() and (precision > 0).all()):
        raise InvalidValue("precision", "finite numbers above 0")
    if intercept is None:
        return precision
    if not (np.isfinite(intercept) and intercept > 0):
        raise InvalidValue("intercept_precision", "a finite number above 0, or none")
    return np.append(precision, intercept)


def _logistic(negative: Floats) -> Floats:
    """mu(z) for z <= 0, where exp(z) cannot overflow."""
    power = np.exp(negative)
    return power / (1.0 + power)
