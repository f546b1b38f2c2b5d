"""Model selection: the posterior probability of feature maps and priors, by their evidence.

A candidate puts prior variances on a few blocks of features. Its evidence is the probability of
the labels so far with the weights integrated out (Laplace), which penalises a fine map for features
that it does not need. One model of all blocks with a shrinking prior does not work: what is certain
in the coarse map is lost in the freedom of the fine one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.learning.arrays import Floats
from app.learning.features.base import FeatureMap, StepFeatures, stack_rows
from app.learning.features.blocks import Blocks
from app.learning.features.one_hot import OneHot
from app.learning.logistic.scaling import Units, unit_sizes
from app.learning.randomness import generator
from app.learning.selection.evidence import laplace_log_evidence
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory

INTERCEPT_VARIANCE = 9.0
MOST_EPISODES = 250  # of more episodes, a sample of this size is used
SHARPNESS = 2.0  # the log evidence counts twice: found by experiment
GROWTH = 1.25  # the evidence is recomputed when labels, or those of a kind, grow by this factor
_SUBSAMPLE = 7  # the address of the generator that picks the episodes


@dataclass(frozen=True)
class Candidate:
    """One model of the labels: features and the prior variances of their parts."""

    name: str
    features: FeatureMap
    variances: tuple[float, ...]  # of each part of ``features``
    log_prior: float
    units: Units = "own"  # that the variances are in
    boldness: float = 1.0  # scales the deviation of sampled weights
    doubt: float = 0.1  # share of draws that also draw the transitions


def candidates(spaces: Spaces) -> tuple[Candidate, ...]:
    """The candidates that `auto` chooses from."""
    H = spaces.horizon
    every, tail = tuple(range(H)), tuple(range(H - math.ceil(H / 10), H))
    s = OneHot(spaces, False, True, False, every)
    sa = OneHot(spaces, False, True, True, every)
    hs = OneHot(spaces, True, True, False, every)
    hsa = OneHot(spaces, True, True, True, every)
    final = OneHot(spaces, False, True, False, (H - 1,))
    late = OneHot(spaces, False, True, False, tail)

    def several(name: str, log_prior: float, *parts: tuple[float, StepFeatures]) -> Candidate:
        blocks = Blocks(spaces, tuple(part for _, part in parts))
        return Candidate(name, blocks, tuple(variance for variance, _ in parts), log_prior)

    return (
        # A small variance for the action: a settled policy takes one action per state, and then
        # the data could never show that actions matter.
        several("visits of states", 0.0, (8.0, s), (1.0, sa)),
        several("visits of states and actions", -0.5, (3.0, s), (6.0, sa)),
        several("visits of states at steps", -1.0, (3.0, s), (6.0, hs)),
        several("everything", -1.5, (1.5, s), (1.5, sa), (1.5, hs), (4.5, hsa)),
        several("the last state", -0.5, (9.0, final)),
        several("the last states", -0.5, (9.0, late)),
        several("states and actions at steps", -1.5, (9.0, hsa)),
        _small(Blocks(spaces, (sa,))),
    )


def readings(features: FeatureMap) -> tuple[Candidate, ...]:
    """The candidates for one given map: a few features decide, or each visit adds a little.

    Where each visit adds a little, labels are noisy and the wide prior of the first candidate
    overestimates rare features; the narrow prior can be sampled with a larger deviation. A map that
    distinguishes steps has a third candidate: all steps are nearly alike, so that a label about one
    step tells something about the others.
    """
    wide = (9.0,) * len(features.parts)
    both = Candidate("some decide", features, wide, 0.0), _small(features)
    steps = features.by_steps
    if steps is not None and (shared := steps.without_steps()):
        blocks = Blocks(features.spaces, (shared, steps))
        return *both, Candidate("steps are alike", blocks, (8.0, 1.0), 0.0)
    return both


def _small(features: FeatureMap) -> Candidate:
    narrow = (1.0,) * len(features.parts)
    return Candidate("each adds a little", features, narrow, -3.0, "common", 3.0, doubt=0.0)


def checkpoint(labels: Floats) -> int:
    """The number of labels, from the first on, that the evidence is computed from.

    It grows when all labels, or those of one kind, have grown by a quarter. Counting kinds apart
    lets a few bad labels after hundreds of good ones change the posterior.
    """
    groups = (np.arange(len(labels)), *(np.flatnonzero(labels == kind) for kind in (0, 1)))
    return max((int(group[_rung(len(group)) - 1]) + 1 for group in groups if len(group)), default=0)


def _rung(count: int) -> int:
    """The largest number up to ``count`` at which the evidence is computed."""
    return math.ceil(GROWTH ** math.floor(math.log(count, GROWTH)))


def weigh(
    choices: Sequence[Candidate], trajectories: Sequence[Trajectory], labels: Floats, seed: int
) -> Floats:
    """The posterior probability of each candidate, shape (candidates,).

    A candidate whose evidence could not be computed has probability zero. Where none could be, the
    prior holds.
    """
    scores = np.array([choice.log_prior for choice in choices])
    if len(labels) and 0.0 < labels.mean() < 1.0:
        kept, share = _representatives(labels, seed)
        played = [trajectories[i] for i in kept]
        kernels: dict[tuple[int, Units], Floats] = {}
        evidence = np.array(
            [_log_evidence(choice, kernels, played, labels[kept]) for choice in choices]
        )
        if np.isfinite(evidence).any():
            scores += SHARPNESS / share * evidence
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


def _representatives(labels: Floats, seed: int) -> tuple[list[int], float]:
    """A balanced sample of the labels, and the share of the rarer kind that it holds.

    It holds as many of the rarer kind as of the other, if there are that many: they tell the maps
    apart once nearly all episodes succeed, or fail. As in a case-control study, only the intercept
    depends on the shares of the two kinds.
    """
    if len(labels) <= MOST_EPISODES:
        return list(range(len(labels))), 1.0
    rng = generator(seed, _SUBSAMPLE, len(labels))
    rare, common = sorted((np.flatnonzero(labels == kind) for kind in (0, 1)), key=len)
    few = min(len(rare), MOST_EPISODES // 2)
    sizes = (rare, few), (common, MOST_EPISODES - few)
    kept = np.concatenate([rng.choice(kind, size, replace=False) for kind, size in sizes])
    return np.sort(kept).tolist(), few / len(rare)


def _kernel(part: FeatureMap, trajectories: Sequence[Trajectory], units: Units) -> Floats:
    """X X' of one block in its units, shape (n, n)."""
    matrix = stack_rows([part.row(trajectory) for trajectory in trajectories], part.dimension)
    divisors = unit_sizes(matrix, np.ones(len(trajectories)), [part.dimension], units)
    matrix.data = matrix.data / divisors[matrix.indices]
    return np.asarray((matrix @ matrix.T).todense())


def _log_evidence(
    choice: Candidate,
    kernels: dict[tuple[int, Units], Floats],
    trajectories: Sequence[Trajectory],
    labels: Floats,
) -> float:
    """The log evidence of a candidate, -inf if the solver fails; caches its parts' kernels."""
    total = np.full((len(labels), len(labels)), INTERCEPT_VARIANCE)
    for part, variance in zip(choice.features.parts, choice.variances, strict=True):
        key = id(part), choice.units
        if key not in kernels:
            kernels[key] = _kernel(part, trajectories, choice.units)
        total += variance * kernels[key]
    found = laplace_log_evidence(total, labels)
    return found.log_evidence if found.converged else -math.inf
