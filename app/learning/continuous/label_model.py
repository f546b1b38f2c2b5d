"""Which states of an episode its label depends on: candidates, their evidence and their functions.

A candidate says which of the states 1..H count (the final one, the last 10 or 20 %, all of them,
or none but whether the episode ended), and how smooth the function g on them is. The logit is the
mean of g over the states that count. An episode that ended stays in its last state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from app.learning.arrays import Floats
from app.learning.continuous.frame import Frame, Track
from app.learning.continuous.process import (
    FLAG_VARIANCE,
    INTERCEPT_VARIANCE,
    Labels,
    Posterior,
    RandomFeatures,
    fit,
    squared_distances,
    squared_exponential,
)

Span = Literal["ended", "final", "last tenth", "last fifth", "all"]
SHARPNESS = 2.0  # evidence counts twice: undecided candidates cost episodes


@dataclass(frozen=True)
class Candidate:
    """One way in which labels may come about."""

    span: Span
    length: float = 0.0  # of the process, in units of sqrt(d)
    variance: float = 0.0
    log_prior: float = 0.0

    def first(self, horizon: int) -> int:
        """The first of the states 0..H that counts; H + 1 where none does."""
        counted = {
            "ended": 0,
            "final": 1,
            "last tenth": math.ceil(horizon / 10),
            "last fifth": math.ceil(horizon / 5),
            "all": horizon,
        }[self.span]
        return horizon + 1 - counted

    @property
    def name(self) -> str:
        """The candidate in words."""
        if self.span == "ended":
            return "whether it ended"
        return f"{self.span} states, length {self.length}, variance {self.variance:g}"


def candidates() -> tuple[Candidate, ...]:
    """All candidates; every span is as probable as the others before any label."""
    groups: tuple[tuple[Candidate, ...], ...] = (
        (Candidate("ended"),),
        tuple(Candidate("final", length, 9.0) for length in (0.03, 0.06, 0.12, 0.25)),
        tuple(Candidate("last tenth", length, 9.0) for length in (0.1, 0.25)),
        tuple(Candidate("last fifth", length, 9.0) for length in (0.1, 0.25)),
        tuple(Candidate("all", length, v) for length in (0.1, 0.25) for v in (9.0, 100.0)),
    )
    return tuple(
        Candidate(candidate.span, candidate.length, candidate.variance, -math.log(len(group)))
        for group in groups
        for candidate in group
    )


@dataclass(frozen=True)
class SuccessLogit:
    """A function of the states, and what an end and the rest add: a logit to plan for."""

    first: int  # the first of the states 0..H that counts; H + 1 where none does
    values: Floats  # (K,): g at the centres of the planning net
    flag: float  # added where the episode ended
    intercept: float


class LabelModel:
    """Fits candidates to labelled episodes and gives their functions on the planning net."""

    def __init__(self, frame: Frame, tracks: Sequence[Track], labels: Labels, horizon: int) -> None:
        self._frame, self._tracks = frame, tracks
        self._labels, self._horizon = labels, horizon
        self._fits: dict[Candidate, Posterior] = {}

    def posterior(self, candidate: Candidate) -> Posterior:
        """The fitted candidate."""
        if candidate not in self._fits:
            places = self._between(candidate, self._tracks)
            self._fits[candidate] = fit(self._labels, places)
        return self._fits[candidate]

    def mean(self, candidate: Candidate) -> SuccessLogit:
        """The posterior mean."""
        found = self.posterior(candidate)
        values = self._respond(candidate, found.dual)
        return self._logit(candidate, values, found.flag, found.intercept)

    def draw(self, candidate: Candidate, spread: float, rng: np.random.Generator) -> SuccessLogit:
        """Mean + spread (draw - mean) of the posterior."""
        found, labels = self.posterior(candidate), self._labels
        flag = math.sqrt(FLAG_VARIANCE) * float(rng.standard_normal())
        intercept = math.sqrt(INTERCEPT_VARIANCE) * float(rng.standard_normal())
        values, places = self._prior_draw(candidate, rng)
        missing = np.zeros(0)
        if len(labels):
            missing = found.correction(places, flag, intercept, rng)
        dual = (1.0 - spread) * found.dual + spread * missing
        return self._logit(
            candidate,
            spread * values + self._respond(candidate, dual),
            spread * flag + FLAG_VARIANCE * float(dual @ labels.ended),
            spread * intercept + INTERCEPT_VARIANCE * float(dual.sum()),
        )

    def predict(self, candidate: Candidate, tracks: Sequence[Track]) -> tuple[Floats, Floats]:
        """Mean and deviation of the logits of m episodes, both of shape (m,)."""
        found, labels = self.posterior(candidate), self._labels
        ended = np.array([float(track.ended) for track in tracks])
        cross = self._between(candidate, tracks)
        cross = cross + FLAG_VARIANCE * np.outer(labels.ended, ended) + INTERCEPT_VARIANCE
        prior = self._variances(candidate, tracks) + FLAG_VARIANCE * ended + INTERCEPT_VARIANCE
        deviation = np.sqrt(found.variance(cross, prior)) if len(labels) else np.sqrt(prior)
        return np.asarray(cross.T @ found.dual), deviation

    def _logit(
        self, candidate: Candidate, values: Floats, flag: float, intercept: float
    ) -> SuccessLogit:
        return SuccessLogit(candidate.first(self._horizon), values, flag, intercept)

    def _between(self, candidate: Candidate, tracks: Sequence[Track]) -> Floats:
        """Prior covariances of g, labelled episodes against others, shape (n, m)."""
        if candidate.span == "ended" or not self._tracks or not tracks:
            return np.zeros((len(self._tracks), len(tracks)))
        length = self._length(candidate)
        if candidate.span == "final":
            squares = squared_distances(self._finals, _finals(tracks))
            return squared_exponential(squares, length, candidate.variance)
        left, right = self._occupied(candidate, self._tracks), self._occupied(candidate, tracks)
        return np.asarray(candidate.variance * (left @ self._frame.covariance(length)) @ right.T)

    def _variances(self, candidate: Candidate, tracks: Sequence[Track]) -> Floats:
        """Prior variances of g of episodes, shape (m,)."""
        if candidate.span in ("ended", "final"):
            return np.full(len(tracks), candidate.variance)
        rows = self._occupied(candidate, tracks)
        spread = rows @ self._frame.covariance(self._length(candidate))
        return np.asarray(candidate.variance * (spread * rows).sum(axis=1))

    def _respond(self, candidate: Candidate, dual: Floats) -> Floats:
        """k'a at the centres of the planning net, shape (K,)."""
        if candidate.span == "ended" or not len(dual):
            return np.zeros(len(self._frame.fine))
        length, variance = self._length(candidate), candidate.variance
        if candidate.span == "final":
            return np.asarray(squared_exponential(self._to_finals, length, variance) @ dual)
        weights = self._occupied(candidate, self._tracks).T @ dual
        return self._frame.onto_fine(variance * (self._frame.covariance(length) @ weights))

    def _prior_draw(self, candidate: Candidate, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """A draw of g from the prior: at the planning net (K,), and of each episode (n,)."""
        frame, length = self._frame, self._length(candidate)
        if candidate.span == "ended":
            return np.zeros(len(frame.fine)), np.zeros(len(self._tracks))
        if candidate.span == "final":
            drawn = RandomFeatures(frame.fine.shape[1], length, candidate.variance, rng)
            return drawn(frame.fine), drawn(self._finals)
        luck = math.sqrt(candidate.variance) * rng.standard_normal(len(frame.coarse))
        values = frame.root(length) @ luck
        return frame.onto_fine(values), self._occupied(candidate, self._tracks) @ values

    def _length(self, candidate: Candidate) -> float:
        return candidate.length * self._frame.root_d

    def _occupied(self, candidate: Candidate, tracks: Sequence[Track]) -> Floats:
        """The weights of the coarse centres for each episode, shape (n, centres)."""
        first = candidate.first(self._horizon)
        rows = [track.occupied(first) for track in tracks]
        return np.array(rows).reshape(len(tracks), len(self._frame.coarse))

    @cached_property
    def _finals(self) -> Floats:
        return _finals(self._tracks).reshape(len(self._tracks), self._frame.fine.shape[1])

    @cached_property
    def _to_finals(self) -> Floats:
        return squared_distances(self._frame.fine, self._finals)


def _finals(tracks: Sequence[Track]) -> Floats:
    """The last states, shape (n, d)."""
    return np.array([track.states[-1] for track in tracks])


def weigh(label_model: LabelModel, labels: Labels, choices: tuple[Candidate, ...]) -> Floats:
    """The posterior probability of each candidate, shape (candidates,).

    While no episode, or every one, has ended, "ended" says nothing and is left out.
    """
    scores = np.array([choice.log_prior for choice in choices])
    constant = not len(labels) or labels.ended.min() == labels.ended.max()
    left_out = np.array([constant and choice.span == "ended" for choice in choices])
    if len(labels) and 0.0 < labels.shares.mean() < 1.0:
        scores += SHARPNESS * np.array(
            [
                0.0 if out else label_model.posterior(choice).log_evidence
                for choice, out in zip(choices, left_out, strict=True)
            ]
        )
    scores = np.where(left_out, -np.inf, scores)
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())
