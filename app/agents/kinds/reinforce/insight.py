"""The insight of `reinforce`: a logistic regression of the labels on observations.

The policy network predicts no labels, so a small regularised model is fitted to them. With x an
observation scaled to [-1, 1] and psi(x) its numbers and their products, the log-odds of a good
label are

    c + w . mean_h psi(x_h) + v . psi(x_last),

a sum over the steps, so that every step has its share. The size of the weights is chosen by the
evidence of the labels: where observations do not matter, the model predicts the share of good
labels. The map counts good labels among the labelled episodes that passed through a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from scipy.special import logit

from app.agents.insight import Axis, Insight, ModelDocument, Shares, StepExplanation, SuccessMap
from app.learning.arrays import Arrays, Floats, Integers
from app.learning.logistic.estimate import LogisticFit, fit_logistic
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.network.input_scaling import InputScaling
from app.learning.selection.evidence import laplace_log_evidence
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy

FEWEST_LABELS = 10  # with fewer, or of one kind only, nothing is predicted
MOST_LABELS = 1000  # the newest episodes that are used
MOST_NUMBERS = 100_000  # that are kept of their observations; long episodes are thinned
MOST_PRODUCTS = 8  # numbers whose products are features; with more only their squares are
DEVIATIONS = (
    0.01,
    0.1,
    0.3,
    1.0,
    3.0,
    10.0,
    30.0,
)  # candidate prior deviations of a weight; the evidence chooses one
OFFSET_DEVIATION = 3.0
MOST_COMPARED = 400  # labels used to choose the deviation
CELLS = 12  # per axis of the map
NEAR = 0.1  # share of the range of a number: closer points count as the same place


@dataclass(frozen=True)
class ObservationInsight(Insight):
    """A logistic model of observed episodes, and a sample of the points they passed."""

    description: str
    low: Floats  # (k,)
    high: Floats  # (k,)
    weights: Floats  # (2 d,): of the mean and of the last observation's features
    offset: float
    is_known: bool  # whether there were labels enough to predict, and the fit converged
    labels: Integers  # (n,)
    points: Floats  # (m, k): observations of the labelled episodes, thinned
    actions: Integers  # (m,)
    owners: Integers  # (m,): which of the n labels a point belongs to

    @classmethod
    def of(
        cls, bounds: InputScaling, labelled: Sequence[tuple[Trajectory, int]]
    ) -> ObservationInsight:
        """Fit the model to the newest labelled episodes; none of them may be empty."""
        episodes, labels = zip(*labelled[-MOST_LABELS:], strict=True)
        fit = None
        if len(labels) >= FEWEST_LABELS and 0 < sum(labels) < len(labels):
            fit = _fit([_summary(bounds, episode) for episode in episodes], labels)
        kept = [_thinned(episode, len(episodes)) for episode in episodes]
        return cls(
            description="the mean and the last of the observed numbers and of their products",
            low=bounds.low,
            high=bounds.high,
            weights=np.zeros(0) if fit is None else fit.weights,
            offset=0.0 if fit is None else fit.intercept,
            is_known=fit is not None and fit.converged,
            labels=np.array(labels, dtype=np.int64),
            points=np.concatenate([_seen(e)[at] for e, at in zip(episodes, kept, strict=True)]),
            actions=np.concatenate([e.actions[at] for e, at in zip(episodes, kept, strict=True)]),
            owners=np.repeat(np.arange(len(kept)), [len(at) for at in kept]),
        )

    @property
    def _bounds(self) -> InputScaling:
        return InputScaling(self.low, self.high)

    def share(self, trajectory: Trajectory) -> Shares | None:
        """The contribution of each observation; the last one has an extra term."""
        if not self.is_known or not len(trajectory):
            return None
        steps = _features(self._bounds(_seen(trajectory)))
        of_mean, of_last = np.split(self.weights, 2)
        shares = steps @ of_mean / len(steps)
        shares[-1] += steps[-1] @ of_last
        return Shares(self.offset, shares, 0.0)

    def explain(
        self,
        policy: Policy | None,  # noqa: ARG002 - there is no model to follow it in
        played: Trajectory,
        memory: tuple[int, ...],  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> StepExplanation | None:
        """Predict from the observations so far, and count how often the action was tried nearby."""
        shares = self.share(played)
        if shares is None:
            return None
        apart = np.abs(self.points - _seen(played)[-1]) / (self.high - self.low)
        near = (apart <= NEAR).all(axis=1) & (self.actions == played.actions[-1])
        return StepExplanation(int(near.sum()), shares.probability, 0.0)

    def success_map(self, dimensions: tuple[int, int] | None = None) -> SuccessMap | None:
        """The share of good labels among the episodes that passed each cell of two numbers.

        Half a good and half a bad label of the usual share are added to every cell, so that one
        label does not decide. Cells that no labelled episode passed are unknown.
        """
        if not len(self.labels):
            return None
        chosen = dimensions or tuple(range(min(2, len(self.low))))
        axes = tuple(Axis(d, float(self.low[d]), float(self.high[d]), CELLS) for d in chosen)
        size = CELLS ** len(axes)
        # An episode counts once in a cell, however long it stayed.
        owner, cell = np.unique(np.stack([self.owners, self._cells(axes)]), axis=1)
        visits = np.bincount(cell, minlength=size)
        good = np.bincount(cell, self.labels[owner], minlength=size)
        usual = (self.labels.sum() + 1.0) / (len(self.labels) + 2.0)
        success = (good + usual) / (visits + 1.0)
        return SuccessMap(
            success=np.where(visits > 0, success, np.nan),
            effects=logit(success) - logit(usual),
            visits=visits,
            bonuses=np.zeros(size),
            best_actions=np.full(size, -1),
            axes=axes,
        )

    def _cells(self, axes: tuple[Axis, ...]) -> Integers:
        """The cell of every point; points outside the bounds go to the nearest cell."""
        cells = np.zeros(len(self.points), dtype=np.int64)
        for axis in axes:
            place = (self.points[:, axis.dimension] - axis.low) / (axis.high - axis.low)
            cells = cells * CELLS + np.clip(np.floor(place * CELLS), 0, CELLS - 1).astype(np.int64)
        return cells

    def document(self) -> ModelDocument | None:
        """The fitted weights; None while there are too few labels."""
        if not self.is_known:
            return None
        return ModelDocument(self.description, self.weights, self.offset)

    def arrays(self) -> Arrays:
        """All fields by name; points are rounded to single precision."""
        arrays = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        return arrays | {"points": self.points.astype(np.float32)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Restore an insight from what ``arrays`` returned."""
        named: dict[str, Any] = dict(arrays)
        named["description"], named["offset"] = str(named["description"]), float(named["offset"])
        named["is_known"], named["points"] = bool(named["is_known"]), named["points"].astype(float)
        return cls(**named)


def _seen(trajectory: Trajectory) -> Floats:
    assert (
        trajectory.observations is not None
    )  # the experience has refused an episode without observations
    return trajectory.observations


def _features(scaled: Floats) -> Floats:
    """psi(x) of each row (n, k): the numbers and their products, or squares where k is large."""
    count = scaled.shape[1]
    if count > MOST_PRODUCTS:
        return np.hstack([scaled, scaled**2])
    first, second = np.triu_indices(count)
    return np.hstack([scaled, scaled[:, first] * scaled[:, second]])


def _summary(bounds: InputScaling, episode: Trajectory) -> Floats:
    """The features of an episode: mean and last observation, shape (2 d,)."""
    steps = _features(bounds(_seen(episode)))
    return np.concatenate([steps.mean(axis=0), steps[-1]])


def _fit(rows: Sequence[Floats], labels: Sequence[int]) -> LogisticFit:
    """The regularised logistic regression of the labels on the episodes' features."""
    size = len(rows[0])
    data, every = LabelledTrajectories(size), np.arange(size)
    for row, label in zip(rows, labels, strict=True):
        data.add((every, row), label)
    deviation = _likeliest_deviation(np.array(rows[-MOST_COMPARED:]), labels[-MOST_COMPARED:])
    return fit_logistic(data, np.full(size, deviation**-2.0), OFFSET_DEVIATION**-2.0)


def _likeliest_deviation(rows: Floats, labels: Sequence[int]) -> float:
    """The prior deviation of the weights that maximises the evidence of the labels."""
    kernel, given = rows @ rows.T, np.array(labels, dtype=np.float64)
    evidence = [
        laplace_log_evidence(deviation**2 * kernel + OFFSET_DEVIATION**2, given).log_evidence
        for deviation in DEVIATIONS
    ]
    return DEVIATIONS[int(np.argmax(evidence))]


def _thinned(episode: Trajectory, episodes: int) -> Integers:
    """Evenly spaced steps of an episode, always including the last."""
    most = max(1, MOST_NUMBERS // (episodes * _seen(episode).shape[1]))
    steps = np.linspace(len(episode) - 1, 0, min(most, len(episode)))
    return np.unique(np.round(steps).astype(np.int64))
