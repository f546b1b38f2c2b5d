"""The evidence of a model: the marginal likelihood of the labels, by Laplace's approximation.

A model is a Gaussian prior over the logits f of n labelled trajectories, N(0, K). For linear
weights with prior precisions Lambda and an intercept's precision l0, K = X Lambda^-1 X' + 1/l0.
With p(y|f) the likelihood, f the mode of p(y|f) N(f; 0, K), a = K^-1 f and W = -(log p)'' there,

    log Z = log p(y|f) - 1/2 f'a - 1/2 log |I + W^.5 K W^.5|.

The mode is found as in Rasmussen and Williams (2006), algorithm 3.1, in terms of a, so that K is
never inverted and may be singular.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from app.errors import InvalidValue
from app.learning.arrays import Floats

ITERATION_LIMIT = 100
SEARCH_LIMIT = 40
DECREMENT_TOLERANCE = 1e-18  # squared length of the step still to make, in the posterior's metric
CLOSE = 1e-9  # the squared length up to which a climb that stopped counts as converged
GOOD_CONTRACTION = 0.01  # a factor is kept while the squared length shrinks to this share


@dataclass(frozen=True)
class LaplaceEvidence:
    """The log evidence, and the mode it was taken at."""

    log_evidence: float
    logits: Floats  # (n,): f
    dual: Floats  # (n,): a
    converged: bool
    iterations: int
    message: str


def laplace_log_evidence(
    kernel: Floats, labels: Floats, weight_per_row: float | Floats = 1.0
) -> LaplaceEvidence:
    """The Laplace evidence of ``labels`` (n,) under the prior covariance ``kernel`` (n, n).

    Each row's log likelihood counts ``weight_per_row`` times, a number or shape (n,). A row with m
    labels of which p are 1 is one row with label p/m and weight m.
    """
    labels, weights = _checked(kernel, labels, weight_per_row)
    mode = _Mode(kernel, labels, weights)
    iterations, decrement = mode.climb()
    factor = mode.factor()
    value = mode.log_likelihood(mode.logits) - 0.5 * float(mode.logits @ mode.dual)
    log_evidence = value - float(np.log(factor.diagonal()).sum())
    converged = decrement <= CLOSE and bool(np.isfinite(log_evidence))
    message = "converged" if converged else f"stopped after {iterations} iterations"
    return LaplaceEvidence(log_evidence, mode.logits, mode.dual, converged, iterations, message)


class _Mode:
    """Newton's method for the mode: maximise log p(y | K a) - 1/2 a' K a over a (concave)."""

    def __init__(self, kernel: Floats, labels: Floats, weights: Floats) -> None:
        self.kernel, self.labels, self.weights = kernel, labels, weights
        self.dual = np.zeros(len(labels))
        self.logits = np.zeros(len(labels))
        self._roots = self.dual

    def log_likelihood(self, logits: Floats) -> float:
        """log p(y|f)."""
        tail = np.log1p(np.exp(-np.abs(logits)))
        wrong = np.where(logits >= 0, 1.0 - self.labels, self.labels)
        return -float(self.weights @ (tail + wrong * np.abs(logits)))

    def factor(self) -> Floats:
        """The lower Cholesky factor of B = I + W^.5 K W^.5 at the present logits."""
        small = _lesser_probability(self.logits)
        self._roots = np.sqrt(self.weights * small * (1.0 - small))
        matrix = self.kernel * self._roots
        matrix *= self._roots[:, None]
        matrix.flat[:: len(matrix) + 1] += 1.0
        try:  # symmetric, so the transpose is the same matrix in the order that LAPACK wants
            factor = linalg.cholesky(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError as error:
            raise InvalidValue("kernel", "a positive semidefinite matrix") from error
        return np.asarray(factor)

    def climb(self) -> tuple[int, float]:
        """Newton's steps to the mode, several with one factor while they contract well.

        It returns the number of steps and the squared length of the step still to make.
        """
        factor, before, decrement = None, np.inf, np.inf
        for iteration in range(ITERATION_LIMIT):
            force = self._pull(self.logits) - self.dual
            image = self.kernel @ force
            if factor is None:
                factor, before = self.factor(), np.inf
            inner = linalg.cho_solve((factor, True), self._roots * image, check_finite=False)
            step = force - self._roots * inner
            change = self.kernel @ step
            decrement = float(force @ change)
            if decrement <= DECREMENT_TOLERANCE or not np.isfinite(decrement):
                return iteration, decrement
            if decrement > GOOD_CONTRACTION * before:
                factor = None
            before = decrement
            length = self._search(step, change)
            self.dual = self.dual + length * step
            self.logits = self.logits + length * change
        return ITERATION_LIMIT, decrement

    def _search(self, step: Floats, change: Floats) -> float:
        """A step length near the maximum along ``step``.

        The slope along the line decreases, so where it is still >= 0 the objective has only grown.
        """
        first = float((self._pull(self.logits) - self.dual) @ change)
        low, high, length = 0.0, np.inf, 1.0
        for _ in range(SEARCH_LIMIT):
            logits = self.logits + length * change
            slope = float((self._pull(logits) - self.dual - length * step) @ change)
            mild = slope >= 0.0 or length * float(np.abs(change).max()) <= 0.5
            if mild and abs(slope) <= 0.5 * first:
                return length
            if slope > 0.0:
                low = length
            else:
                high = length
            length = 2.0 * length if np.isinf(high) else 0.5 * (low + high)
        return low

    def _pull(self, logits: Floats) -> Floats:
        """The gradient of log p(y|f): weight (y - mu(f)), without cancellation, shape (n,)."""
        small = _lesser_probability(logits)
        above = (self.labels - 1.0) + np.where(logits >= 0, small, 1.0 - small)
        below = self.labels - np.where(logits >= 0, 1.0 - small, small)
        return self.weights * np.where(logits >= 0, above, below)


def _lesser_probability(logits: Floats) -> Floats:
    """min(mu(f), 1 - mu(f)) = mu(-|f|)."""
    power = np.exp(-np.abs(logits))
    return np.asarray(power / (1.0 + power))


def _checked(
    kernel: Floats, labels: Floats, weight_per_row: float | Floats
) -> tuple[Floats, Floats]:
    labels = np.asarray(labels, dtype=np.float64)
    if labels.ndim != 1 or not ((labels >= 0) & (labels <= 1)).all():
        raise InvalidValue("labels", "a vector of numbers from 0 to 1")
    n = len(labels)
    if np.shape(kernel) != (n, n):
        raise InvalidValue("kernel", f"shape {(n, n)}, got {np.shape(kernel)}")
    if not np.isfinite(kernel).all():
        raise InvalidValue("kernel", "finite numbers")
    weights = np.asarray(weight_per_row, dtype=np.float64)
    if weights.shape not in ((), (n,)) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise InvalidValue("weight_per_row", f"a number >= 0, or {n} of them")
    return labels, np.broadcast_to(weights, (n,))
