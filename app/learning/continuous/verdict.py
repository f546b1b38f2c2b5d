"""Which states of an episode its label depends on: candidates, their evidence and their functions.

A candidate says which of the states 1..H count (the final one, the last 10 or 20 %, all of them,
or none but whether the episode ended), and how smooth the function g on them is. The logit is the
mean of g over the states that count. An episode that ended stays in its last state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from app.learning.arrays import Floats, Integers
from app.learning.continuous.interpolation import interpolate, neighbours
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
_JITTER = 1e-6


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
        Candidate(one.span, one.length, one.variance, -math.log(len(group)))
        for group in groups
        for one in group
    )


@dataclass(frozen=True)
class Verdict:
    """A function of the states, and what an end and the rest add: a logit to plan for."""

    first: int  # the first of the states 0..H that counts; H + 1 where none does
    values: Floats  # (K,): g at the centres of the planning net
    flag: float  # added where the episode ended
    intercept: float


@dataclass(frozen=True)
class Evidence:
    """Labelled episodes as the candidates see them.

    ``states`` are the states 1..H of each episode in z, (n, H, d): after an end the last one
    repeats.
    """

    states: Floats
    labels: Labels

    @property
    def horizon(self) -> int:
        """H."""
        return int(self.states.shape[1])


class Judge:
    """Fits candidates to labelled episodes and gives their functions on the planning net."""

    def __init__(self, evidence: Evidence, coarse: Floats, fine: Floats) -> None:
        self._evidence = evidence
        self._coarse, self._fine = coarse, fine  # the verdict's net and the planning net
        self._root_d = math.sqrt(fine.shape[1])
        self._occupied: dict[int, Floats] = {}
        self._fits: dict[Candidate, Posterior] = {}

    def posterior(self, candidate: Candidate) -> Posterior:
        """The fitted candidate."""
        if candidate not in self._fits:
            self._fits[candidate] = fit(self._evidence.labels, self._places(candidate))
        return self._fits[candidate]

    def mean(self, candidate: Candidate) -> Verdict:
        """The posterior mean."""
        found = self.posterior(candidate)
        values = self._respond(candidate, found.dual)
        return self._verdict(candidate, values, found.flag, found.intercept)

    def draw(self, candidate: Candidate, spread: float, rng: np.random.Generator) -> Verdict:
        """Mean + spread (draw - mean) of the posterior."""
        found, labels = self.posterior(candidate), self._evidence.labels
        flag = math.sqrt(FLAG_VARIANCE) * float(rng.standard_normal())
        intercept = math.sqrt(INTERCEPT_VARIANCE) * float(rng.standard_normal())
        values, places = self._prior_draw(candidate, rng)
        missing = np.zeros(0)
        if len(labels):
            missing = found.correction(places, flag, intercept, rng)
        dual = (1.0 - spread) * found.dual + spread * missing
        return self._verdict(
            candidate,
            spread * values + self._respond(candidate, dual),
            spread * flag + FLAG_VARIANCE * float(dual @ labels.ended),
            spread * intercept + INTERCEPT_VARIANCE * float(dual.sum()),
        )

    def predict(self, candidate: Candidate, states: Floats, ended: Floats) -> tuple[Floats, Floats]:
        """Mean and deviation of the logits of episodes: states (m, H, d), ended (m,)."""
        found, labels = self.posterior(candidate), self._evidence.labels
        cross, prior = self._between(candidate, states)
        cross = cross + FLAG_VARIANCE * np.outer(labels.ended, ended) + INTERCEPT_VARIANCE
        prior = prior + FLAG_VARIANCE * ended + INTERCEPT_VARIANCE
        deviation = np.sqrt(found.variance(cross, prior)) if len(labels) else np.sqrt(prior)
        return np.asarray(cross.T @ found.dual), deviation

    def _verdict(
        self, candidate: Candidate, values: Floats, flag: float, intercept: float
    ) -> Verdict:
        return Verdict(candidate.first(self._evidence.horizon), values, flag, intercept)

    def _places(self, candidate: Candidate) -> Floats:
        """The prior covariance of g between the labelled episodes, (n, n)."""
        return self._between(candidate, self._evidence.states)[0]

    def _between(self, candidate: Candidate, states: Floats) -> tuple[Floats, Floats]:
        """Prior covariances of g: labelled episodes against others (n, m), and variances (m,)."""
        if candidate.span == "ended":
            return np.zeros((len(self._evidence.labels), len(states))), np.zeros(len(states))
        if candidate.span == "final":
            squares = squared_distances(self._finals, states[:, -1])
            cross = squared_exponential(squares, self._length(candidate), candidate.variance)
            return cross, np.full(len(states), candidate.variance)
        centres, first = self._centres(candidate), candidate.first(self._evidence.horizon)
        others = self._occupancy(states, first)
        cross = self._labelled_occupancy(first) @ centres @ others.T
        return cross, np.einsum("ij,jk,ik->i", others, centres, others)

    def _respond(self, candidate: Candidate, dual: Floats) -> Floats:
        """k'a at the centres of the planning net, shape (K,)."""
        if candidate.span == "ended" or not len(dual):
            return np.zeros(len(self._fine))
        if candidate.span == "final":
            length = self._length(candidate)
            return squared_exponential(self._to_finals, length, candidate.variance) @ dual
        occupied = self._labelled_occupancy(candidate.first(self._evidence.horizon))
        return self._onto_fine(self._centres(candidate) @ (occupied.T @ dual))

    def _prior_draw(self, candidate: Candidate, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """A draw of g from the prior: at the planning net (K,), and of each episode (n,)."""
        n, length = len(self._evidence.labels), self._length(candidate)
        if candidate.span == "ended":
            return np.zeros(len(self._fine)), np.zeros(n)
        if candidate.span == "final":
            drawn = RandomFeatures(self._fine.shape[1], length, candidate.variance, rng)
            return drawn(self._fine), drawn(self._finals)
        covariance = self._centres(candidate)
        covariance.flat[:: len(covariance) + 1] += _JITTER * candidate.variance
        values = np.linalg.cholesky(covariance) @ rng.standard_normal(len(covariance))
        occupied = self._labelled_occupancy(candidate.first(self._evidence.horizon))
        return self._onto_fine(values), np.asarray(occupied @ values)

    def _length(self, candidate: Candidate) -> float:
        return candidate.length * self._root_d

    def _centres(self, candidate: Candidate) -> Floats:
        """The prior covariance of g between the centres of the verdict's net."""
        length = self._length(candidate)
        return squared_exponential(self._coarse_squares, length, candidate.variance)

    @cached_property
    def _coarse_squares(self) -> Floats:
        return squared_distances(self._coarse, self._coarse)

    @cached_property
    def _finals(self) -> Floats:
        return np.ascontiguousarray(self._evidence.states[:, -1])

    @cached_property
    def _to_finals(self) -> Floats:
        return squared_distances(self._fine, self._finals)

    @cached_property
    def _fine_weights(self) -> tuple[Integers, Floats]:
        return interpolate(self._fine, self._coarse, neighbours(self._fine.shape[1]))

    def _onto_fine(self, values: Floats) -> Floats:
        chosen, weights = self._fine_weights
        return np.asarray((values[chosen] * weights).sum(axis=1))

    def _labelled_occupancy(self, first: int) -> Floats:
        if first not in self._occupied:
            self._occupied[first] = self._occupancy(self._evidence.states, first)
        return self._occupied[first]

    def _occupancy(self, states: Floats, first: int) -> Floats:
        """How much each centre of the verdict's net stands for an episode's counted states.

        Rows sum to one, shape (n, centres).
        """
        counted = states[:, first - 1 :]
        n, steps, d = counted.shape
        chosen, weights = interpolate(counted.reshape(-1, d), self._coarse, neighbours(d))
        occupied = np.zeros((n, len(self._coarse)))
        rows = np.repeat(np.arange(n), steps * chosen.shape[1]) if n else np.empty(0, dtype=int)
        np.add.at(occupied, (rows, chosen.ravel()), weights.ravel() / steps)
        return occupied


def weigh(judge: Judge, choices: tuple[Candidate, ...], labels: Labels) -> Floats:
    """The posterior probability of each candidate, shape (candidates,).

    While no episode, or every one, has ended, "ended" says nothing and is left out.
    """
    scores = np.array([choice.log_prior for choice in choices])
    constant = not len(labels) or labels.ended.min() == labels.ended.max()
    left_out = np.array([constant and choice.span == "ended" for choice in choices])
    if len(labels) and 0.0 < labels.shares.mean() < 1.0:
        scores += SHARPNESS * np.array(
            [
                0.0 if out else judge.posterior(choice).log_evidence
                for choice, out in zip(choices, left_out, strict=True)
            ]
        )
    scores = np.where(left_out, -np.inf, scores)
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())
