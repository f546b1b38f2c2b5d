"""Gaussian processes on the logit of a label: Laplace posterior, its mean and draws from it.

The logit of episode i is f_i = g(i) + b e_i + c: g a smooth function of where the episode went, e_i
whether it ended early, b and c with variance 9. With K the prior covariance of f, a the gradient of
the log likelihood at the mode and W its curvature, any linear functional with prior covariance k to
f has the posterior mean k'a. A draw of the posterior is a draw of the prior, corrected by what it
misses of the labels (Matheron's rule):

    draw = prior + k' (K + W^-1)^-1 (f + W^-1 a - f_prior - noise),  noise ~ N(0, W^-1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import expit

from app.learning.arrays import Floats
from app.learning.selection.evidence import laplace_log_evidence

FLAG_VARIANCE = 9.0  # of the weight of "ended"
INTERCEPT_VARIANCE = 9.0
_LEAST_CURVATURE = 1e-9


@dataclass(frozen=True)
class Labels:
    """The labels of each episode: the share of good labels, and their number."""

    shares: Floats  # (n,)
    counts: Floats  # (n,)
    ended: Floats  # (n,): 1 where the environment ended the episode early

    def __len__(self) -> int:
        return len(self.shares)

    def covariance(self, places: Floats) -> Floats:
        """K from the covariance of g between episodes, (n, n)."""
        flags = FLAG_VARIANCE * np.outer(self.ended, self.ended)
        return np.asarray(places + flags + INTERCEPT_VARIANCE)


@dataclass(frozen=True)
class Posterior:
    """The Laplace posterior of the logits of labelled episodes."""

    labels: Labels
    covariance: Floats  # (n, n): K
    logits: Floats  # (n,): f, the mode
    dual: Floats  # (n,): a
    log_evidence: float

    @property
    def intercept(self) -> float:
        """The mean of c."""
        return INTERCEPT_VARIANCE * float(self.dual.sum())

    @property
    def flag(self) -> float:
        """The mean of b."""
        return FLAG_VARIANCE * float(self.dual @ self.labels.ended)

    def correction(
        self, places: Floats, flag: float, intercept: float, rng: np.random.Generator
    ) -> Floats:
        """The dual that turns a draw of the prior into one of the posterior, shape (n,).

        ``places`` is the drawn g of every episode, (n,); ``flag`` and ``intercept`` are the drawn
        b and c.
        """
        roots = self._roots()
        drawn = places + flag * self.labels.ended + intercept
        misses = roots * (self.logits - drawn) + self.dual / roots
        misses -= rng.standard_normal(len(roots))
        return np.asarray(roots * linalg.cho_solve(self._factor(roots), misses))

    def variance(self, cross: Floats, prior: Floats) -> Floats:
        """Posterior variances of m functionals: ``cross`` (n, m) to f, ``prior`` variances (m,)."""
        roots = self._roots()
        half = linalg.solve_triangular(self._factor(roots)[0], roots[:, None] * cross, lower=True)
        return np.asarray(np.maximum(prior - (half**2).sum(axis=0), 0.0))

    def _roots(self) -> Floats:
        chance = expit(self.logits)
        curvature = self.labels.counts * chance * (1.0 - chance)
        return np.asarray(np.sqrt(np.maximum(curvature, _LEAST_CURVATURE)))

    def _factor(self, roots: Floats) -> tuple[Floats, bool]:
        """The Cholesky factor of I + W^.5 K W^.5."""
        inner = roots[:, None] * self.covariance * roots
        inner.flat[:: len(inner) + 1] += 1.0
        return linalg.cholesky(inner, lower=True), True


def fit(labels: Labels, places: Floats) -> Posterior:
    """The posterior given the covariance of g between episodes, ``places`` (n, n)."""
    covariance = labels.covariance(places)
    if not len(labels):
        return Posterior(labels, covariance, np.empty(0), np.empty(0), 0.0)
    found = laplace_log_evidence(covariance, labels.shares, labels.counts)
    return Posterior(labels, covariance, found.logits, found.dual, found.log_evidence)


def squared_distances(first: Floats, second: Floats) -> Floats:
    """|x - y|^2 between the rows of two arrays, shape (n, m)."""
    gaps = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2.0 * first @ second.T
    return np.asarray(np.maximum(gaps, 0.0))


def squared_exponential(squares: Floats, length: float, variance: float) -> Floats:
    """variance exp(-|x - y|^2 / (2 length^2)) from squared distances.

    What is below e^-50 is 0: denormal numbers would make every product slow.
    """
    powers = squares / (-2.0 * length * length)
    return np.asarray(np.where(powers > -50.0, variance * np.exp(powers), 0.0))


class RandomFeatures:
    """A draw of a squared-exponential process as a function, by random Fourier features."""

    def __init__(
        self, dimensions: int, length: float, variance: float, rng: np.random.Generator
    ) -> None:
        count = 512
        self._frequencies = rng.standard_normal((dimensions, count)) / length
        self._phases = rng.uniform(0.0, 2.0 * np.pi, count)
        self._weights = rng.standard_normal(count) * np.sqrt(2.0 * variance / count)

    def __call__(self, points: Floats) -> Floats:
        """The drawn function at points (n, d), shape (n,)."""
        return np.asarray(np.cos(points @ self._frequencies + self._phases) @ self._weights)
