"""A belief: the logistic model of labels over one feature map, its posterior, and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.agents.experience import Experience
from app.learning.arrays import Arrays, Floats
from app.learning.features.base import FeatureMap, FeatureTables
from app.learning.logistic.estimate import LogisticEstimator, LogisticFit
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.logistic.posterior import Posterior
from app.learning.logistic.scaling import Units, unit_sizes
from app.learning.world.tracker import Tracker


@dataclass(frozen=True)
class Prior:
    """The prior distribution of the weights.

    ``variances`` has one entry per part of the map: the variance of its weights in the ``units`` of
    the data. Without ``variances`` the paper's scale applies: rows are divided by a proved bound of
    their norm, and every weight has variance 1 / regularisation.
    """

    variances: tuple[float, ...] | None
    intercept_variance: float | None
    regularisation: float = 1.0
    units: Units = "own"


class Belief:
    """A logistic model of trajectory labels, updated from an experience."""

    def __init__(self, features: FeatureMap, prior: Prior) -> None:
        self.features = features
        self.prior = prior
        self.data = LabelledTrajectories(features.dimension)
        self._estimator = LogisticEstimator()
        self._seen = 0
        self._learned: Learned | None = None

    def follow(self, experience: Experience) -> Learned:
        """Add the labels since the last call, and fit."""
        self._take_in(experience)
        if self._learned is None:
            self._learned = self._fit()
        return self._learned

    def _take_in(self, experience: Experience) -> None:
        fresh = experience.changes[self._seen :]
        for change in fresh:
            row = self.features.row(experience.episodes[change.episode])
            if change.sign > 0:
                self.data.add(row, change.label)
            else:
                self.data.remove(row, change.label)
        if fresh:
            self._seen += len(fresh)
            self._learned = None

    @property
    def tables(self) -> FeatureTables:
        """The tables for planners; over tracked states if the features need a memory."""
        return self.features.tables

    @property
    def tracker(self) -> Tracker | None:
        """The automaton of the tracked states; None if the features need no memory."""
        return self.features.tables.tracker

    def visits(self, experience: Experience, cells: Floats) -> Floats:
        """The smaller of a cell's visits and the number of labelled episodes with its features.

        ``cells`` (H, S, A) are the visits counted so far. A cell may be well known while a feature
        that only a few steps have is not.
        """
        self._take_in(experience)
        rows, (counts, _) = self.data.design().rows, self.data.counts()
        touches = np.asarray(abs(rows).T @ counts)
        return np.minimum(cells, self.features.least_touched(touches))

    def _fit(self) -> Learned:
        precision = self._precision()
        variance = self.prior.intercept_variance
        offset = None if variance is None else 1.0 / variance
        fit = self._estimator.fit(self.data, precision, offset)
        if (
            not fit.converged
        ):  # try again from zero: the last estimate may be a bad start for the new labels
            self._estimator = LogisticEstimator()
            fit = self._estimator.fit(self.data, precision, offset)
        return Learned(self, fit, precision, offset)

    @property
    def failure(self) -> str | None:
        """Why the last fit did not converge; None if it did."""
        if self._learned is None or self._learned.fit.converged:
            return None
        return self._learned.fit.message

    def _precision(self) -> Floats:
        """The prior precision of each raw weight, with the scale of its feature."""
        if self.prior.variances is None:
            scale = self.features.largest_norm() or 1.0
            return np.full(self.features.dimension, self.prior.regularisation * scale**2)
        sizes, (counts, _) = [part.dimension for part in self.features.parts], self.data.counts()
        divisors = unit_sizes(self.data.design().rows, counts, sizes, self.prior.units)
        return np.asarray(divisors**2 / np.repeat(self.prior.variances, sizes))

    def arrays(self) -> Arrays:
        """The starting point of the next fit."""
        data = {f"data.{key}": value for key, value in self.data.arrays().items()}
        estimator = {f"estimator.{k}": v for k, v in self._estimator.arrays().items()}
        return data | estimator | {"seen": np.array(self._seen)}

    def load(self, arrays: Arrays) -> None:
        """Load what ``arrays`` returned; the next fit is the same to the bit."""
        self.data = LabelledTrajectories.from_arrays(_under(arrays, "data."))
        self._estimator.restore(_under(arrays, "estimator."))
        self._seen = int(arrays["seen"])


@dataclass(frozen=True)
class Learned:
    """One fit of a belief, with its posterior and tables."""

    belief: Belief
    fit: LogisticFit
    precision: Floats
    offset_precision: float | None

    @cached_property
    def posterior(self) -> Posterior:
        """The Gaussian posterior around the estimate."""
        return Posterior.around(self.fit, self.belief.data, self.precision, self.offset_precision)


def _under(arrays: Arrays, prefix: str) -> Arrays:
    return {key[len(prefix) :]: value for key, value in arrays.items() if key.startswith(prefix)}
