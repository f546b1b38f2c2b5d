"""Directions of descent for Newton's method: -H^-1 g, by two roads.

Small problems factorise the Hessian H once and go on with the old factor for as long as it serves,
from label to label; what it misses is learnt from the steps themselves (L-BFGS with the factor as
its first matrix). Large problems never hold a D x D matrix and use conjugate gradients.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from app.errors import SnapshotError
from app.learning.conjugate import conjugate_gradients
from app.learning.design import Floats
from app.learning.loss import LogisticLoss, Point

POOR_CONTRACTION = 0.3  # a step that leaves more of the gradient than this asks for a new factor
REMEMBERED_STEPS = 12
FORCING = 0.1  # conjugate gradients solve to this share of the gradient, or closer
CONJUGATE_LIMIT = 2000


class Directions(Protocol):
    """Where to go from a point, and what was learnt by going there."""

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


class FactorDirections:
    """Directions from a Cholesky factor that outlives the fit it was made in."""

    def __init__(self, factor: Floats | None = None) -> None:
        self.factor = factor  # (D, D), lower triangle
        self._loss: LogisticLoss | None = None
        self._steps: deque[tuple[Floats, Floats, float]] = deque(maxlen=REMEMBERED_STEPS)
        self._fresh = False
        self._least = 0
        self._excess = 0.0

    def begin(self, loss: LogisticLoss) -> None:
        """Keep the factor if it has the right size and has not cost more than a new one."""
        worn = self._excess > loss.design.gram_cost
        if self.factor is not None and (worn or len(self.factor) != loss.design.size):
            self.factor = None
        self._loss = loss
        self._fresh = False
        self._steps.clear()

    def direction(self, point: Point) -> Floats:
        """-H^-1 g by the two loops of L-BFGS around a solve with the factor."""
        if self.factor is None:
            self._rebuild(point)
        vector = point.gradient.copy()
        shares = []
        for step, change, curvature in reversed(self._steps):
            share = float(step @ vector) / curvature
            vector -= share * change
            shares.append(share)
        vector = linalg.cho_solve((self.factor, True), vector, check_finite=False)
        for (step, change, curvature), share in zip(self._steps, reversed(shares), strict=True):
            vector += (share - float(change @ vector) / curvature) * step
        return np.asarray(-vector)

    def learn(self, before: Point, after: Point) -> None:
        """Remember the step, or forget the factor when the gradient hardly shrank."""
        if after.gradient_norm > POOR_CONTRACTION * before.gradient_norm:
            self.factor = None
            self._steps.clear()
            return
        step, change = after.theta - before.theta, after.gradient - before.gradient
        curvature = float(step @ change)
        if curvature > 0.0:  # strictly convex: only rounding can say otherwise
            self._steps.append((step, change, curvature))

    def end(self, iterations: int) -> None:
        """Add up the iterations that an old factor cost beyond what it needed when new."""
        if self._fresh:
            self._least, self._excess = 0, 0.0
        elif self._least == 0:
            self._least = iterations
        else:
            self._least = min(self._least, iterations)
            self._excess += iterations - self._least
        self._loss = None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The factor and its age, as plain arrays that ``from_arrays`` takes."""
        if self.factor is None:
            return {}
        age = np.array([self._least, self._excess], dtype=np.float64)
        return {"factor": self.factor.copy(), "factor_age": age}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> FactorDirections:
        """The directions whose ``arrays`` these are."""
        if "factor" not in arrays:
            return cls()
        factor, age = arrays["factor"], arrays.get("factor_age", np.zeros(0))
        square = factor.ndim == 2 and factor.shape[0] == factor.shape[1]
        if not square or age.shape != (2,) or not np.isfinite(factor).all():
            raise SnapshotError("estimate: expected a square factor and its age")
        restored = cls(np.array(factor, dtype=np.float64, order="F"))
        restored._least, restored._excess = int(age[0]), float(age[1])
        return restored

    def _rebuild(self, point: Point) -> None:
        assert self._loss is not None
        self.factor = lower_factor(self._loss.hessian(point.logits))
        self._steps.clear()
        self._fresh = True


class ConjugateDirections:
    """Directions by conjugate gradients on the Hessian at the point; O(D) memory."""

    def __init__(self) -> None:
        self._loss: LogisticLoss | None = None

    def begin(self, loss: LogisticLoss) -> None:
        """Only the loss is needed."""
        self._loss = loss

    def direction(self, point: Point) -> Floats:
        """-H^-1 g, the closer the smaller the gradient, so that convergence is superlinear."""
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
        return solved.solution

    def learn(self, before: Point, after: Point) -> None:
        """Nothing is kept: the next Hessian is exact."""

    def end(self, iterations: int) -> None:  # noqa: ARG002 - the protocol's
        """Let go of the data."""
        self._loss = None


def lower_factor(matrix: Floats) -> Floats:
    """The lower Cholesky factor of a positive definite matrix, which is overwritten.

    Where rounding has made the matrix indefinite the diagonal is raised by the least power of ten
    that helps: the direction stays one of descent, and the gradient it is used with is exact.
    """
    jitter = 0.0
    scale = float(matrix.diagonal().max(initial=0.0))
    while True:
        trial = matrix.copy()
        trial.flat[:: len(matrix) + 1] += jitter
        try:
            factor = linalg.cholesky(trial, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            jitter = max(10.0 * jitter, 1e-15 * scale)
            continue
        return np.asarray(factor)
