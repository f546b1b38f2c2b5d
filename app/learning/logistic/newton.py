"""Descent directions for Newton's method, -H^-1 g: by a kept inverse or by conjugate gradients.

Small problems invert the Hessian H once and keep that inverse over many labels: after every step a
BFGS update corrects it by the change of the gradient, in O(D^2). Large problems never hold a D x D
matrix and use conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas

from app.errors import NumericalError, SnapshotError
from app.learning.arrays import Arrays, Floats
from app.learning.logistic.conjugate import conjugate_gradients
from app.learning.logistic.loss import LogisticLoss, Point

POOR_CONTRACTION = 0.3  # after a step that leaves a larger share of the gradient, invert again
LUCK = 2  # iterations by which fits with the same inverse differ from label to label
FORCING = 0.1  # conjugate gradients solve to this share of the gradient, or closer
CONJUGATE_LIMIT = 2000
FACTOR_TRIES = 17  # the diagonal is raised from 1e-15 to 1 times its largest entry


class Directions(Protocol):
    """A source of descent directions that learns from the steps taken."""

    def begin(self, loss: LogisticLoss) -> None:
        """A new fit starts."""
        ...

    def direction(self, point: Point) -> Floats:
        """An approximation of -H^-1 g at ``point``, shape (D,), that descends."""
        ...

    def learn(self, before: Point, after: Point) -> None:
        """A step was taken."""
        ...

    def end(self, iterations: int) -> None:
        """The fit is over."""
        ...


class InverseDirections:
    """Directions from an inverse Hessian that is kept from fit to fit."""

    def __init__(self) -> None:
        self._inverse: Floats | None = None  # (D, D), of which the lower triangle is kept
        self._loss: LogisticLoss | None = None
        self._fresh = False
        self._least = 0
        self._excess = 0

    def begin(self, loss: LogisticLoss) -> None:
        """Keep the inverse if it has the right size and has not yet cost more than a new one."""
        worn = self._excess > loss.design.gram_cost
        if self._inverse is not None and (worn or len(self._inverse) != loss.design.size):
            self._inverse = None
        self._loss = loss
        self._fresh = False

    def direction(self, point: Point) -> Floats:
        """-H^-1 g with the present inverse."""
        if self._inverse is None:
            self._rebuild(point)
        direction = self._times(-point.gradient)
        if float(direction @ point.gradient) < 0.0:
            return direction
        # Rounding has made the inverse indefinite.
        assert self._loss is not None
        self._inverse = None
        return _scaled_gradient(self._loss, point)

    def learn(self, before: Point, after: Point) -> None:
        """Update the inverse by BFGS, or drop it after a step that contracted badly.

        With s the step, y the change of the gradient, B the inverse and r = 1 / s.y, BFGS is
        B + s u' + u s' with u = r (1 + r y'By) s / 2 - r By.
        """
        if after.gradient_norm > POOR_CONTRACTION * before.gradient_norm:
            self._inverse = None
        if self._inverse is None:
            return
        step, change = after.theta - before.theta, after.gradient - before.gradient
        curvature = float(step @ change)
        if curvature <= 0.0:  # the loss is strictly convex: this is rounding
            return
        image = self._times(change)
        share = 0.5 * (1.0 + float(change @ image) / curvature) / curvature
        update = share * step - image / curvature
        self._inverse = blas.dsyr2(1.0, step, update, a=self._inverse, lower=1, overwrite_a=1)

    def end(self, iterations: int) -> None:
        """Add up the iterations that an old inverse needed beyond those of a new one."""
        if self._fresh:
            self._least, self._excess = 0, 0
        elif self._least == 0:
            self._least = iterations
        else:
            self._least = min(self._least, iterations)
            self._excess += max(0, iterations - self._least - LUCK)
        self._loss = None

    def arrays(self) -> Arrays:
        """The inverse and its age as named arrays, for storage."""
        if self._inverse is None:
            return {}
        age = np.array([self._least, self._excess], dtype=np.int64)
        return {"inverse": np.tril(self._inverse), "inverse_age": age}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> InverseDirections:
        """Restore the directions from `arrays`."""
        restored = cls()
        if "inverse" not in arrays:
            return restored
        inverse, age = arrays["inverse"], arrays.get("inverse_age", np.zeros(0))
        square = inverse.ndim == 2 and inverse.shape[0] == inverse.shape[1]
        if not square or age.shape != (2,) or not np.isfinite(inverse).all():
            raise SnapshotError("estimate: expected a square inverse and its age")
        restored._inverse = np.array(inverse, dtype=np.float64, order="F")
        restored._least, restored._excess = int(age[0]), int(age[1])
        return restored

    def _times(self, vector: Floats) -> Floats:
        return np.asarray(blas.dsymv(1.0, self._inverse, vector, lower=1))

    def _rebuild(self, point: Point) -> None:
        assert self._loss is not None
        factor = lower_factor(self._loss.hessian(point.logits))
        # Not LAPACK's potri: on a busy machine its threads block each other, even for small
        # matrices.
        identity = np.eye(len(factor), order="F")
        self._inverse = linalg.cho_solve(
            (factor, True), identity, overwrite_b=True, check_finite=False
        )
        self._fresh = True


class ConjugateDirections:
    """Directions by conjugate gradients on the Hessian at the point; O(D) memory."""

    def __init__(self) -> None:
        self._loss: LogisticLoss | None = None

    def begin(self, loss: LogisticLoss) -> None:
        """Only the loss is needed."""
        self._loss = loss

    def direction(self, point: Point) -> Floats:
        """-H^-1 g, solved more exactly for smaller gradients: convergence is superlinear."""
        assert self._loss is not None
        design, precision = self._loss.design, self._loss.precision
        weights = self._loss.row_weights(point.logits)
        norm = point.gradient_norm
        solved = conjugate_gradients(
            lambda v: design.adjoint(weights * design.forward(v)) + precision * v,
            -point.gradient,
            design.gram_diagonal(weights) + precision,
            tolerance=max(min(FORCING, norm), 1e-4) * norm,
            limit=CONJUGATE_LIMIT,
        )
        # A solve that was stopped early still descends, unless it never made a step.
        if solved.converged or float(solved.solution @ point.gradient) < 0.0:
            return solved.solution
        return _scaled_gradient(self._loss, point)

    def learn(self, before: Point, after: Point) -> None:
        """Nothing is kept: the next Hessian is exact."""

    def end(self, iterations: int) -> None:  # noqa: ARG002 - the protocol's
        """Release the data."""
        self._loss = None


def _scaled_gradient(loss: LogisticLoss, point: Point) -> Floats:
    """-g divided by the diagonal of the Hessian: a direction that always descends."""
    diagonal = loss.design.gram_diagonal(loss.row_weights(point.logits)) + loss.precision
    return np.asarray(-point.gradient / diagonal)


def lower_factor(matrix: Floats) -> Floats:
    """The lower Cholesky factor of a positive definite matrix.

    Where rounding has made the matrix indefinite, the diagonal is raised by the smallest sufficient
    power of ten, up to its largest entry. The direction still descends, and the gradient it is used
    with is exact. A matrix that cannot be factorised even so raises `NumericalError`.
    """
    scale = float(matrix.diagonal().max(initial=0.0))
    raises = [0.0, *(1e-15 * scale * 10.0**power for power in range(FACTOR_TRIES - 1))]
    for jitter in raises:
        trial = matrix.copy()
        trial.flat[:: len(matrix) + 1] += jitter
        try:
            factor = linalg.cholesky(trial, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            continue
        if np.isfinite(factor).all():
            return np.asarray(factor)
    raise NumericalError(
        f"cannot factorise a matrix of {len(matrix)} rows: it is not positive definite "
        "or has numbers that are not finite"
    )
