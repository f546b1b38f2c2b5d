"""Feature maps that compete: which of them the labels speak for, by their evidence.

A candidate puts prior variances on a few blocks of features. Its evidence is the probability of
the labels so far with the weights integrated out (Laplace), which charges a fine map for freedom
that it does not need. Adding all blocks up under one shrinking prior does not work: what is
certain in the coarse map is lost in the freedom of the fine one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.learning.evidence import laplace_log_evidence
from app.learning.features import Blocks, FeatureMap, Floats, OneHot, Spaces, stack_rows
from app.learning.randomness import generator
from app.learning.trajectory import Trajectory

INTERCEPT_VARIANCE = 9.0
MOST_EPISODES = 250  # evidence of more is scaled up from that many
SHARPNESS = 2.0  # evidence counts twice, settled by experiment: undecided maps cost episodes
GROWTH = 1.25  # evidence is taken anew when there are this many times more labels
_SUBSAMPLE = 7  # the address of the generator that picks the episodes


@dataclass(frozen=True)
class Candidate:
    """One way in which labels may come about."""

    name: str
    features: Blocks
    variances: tuple[float, ...]  # of each part of ``features``
    log_prior: float


def candidates(spaces: Spaces) -> tuple[Candidate, ...]:
    """The maps that `auto` chooses from, simplest first."""
    H = spaces.horizon
    every, tail = tuple(range(H)), tuple(range(H - math.ceil(H / 10), H))
    s = OneHot(spaces, False, True, False, every)
    sa = OneHot(spaces, False, True, True, every)
    hs = OneHot(spaces, True, True, False, every)
    hsa = OneHot(spaces, True, True, True, every)
    final = OneHot(spaces, False, True, False, (H - 1,))
    late = OneHot(spaces, False, True, False, tail)

    def several(name: str, log_prior: float, *parts: tuple[float, FeatureMap]) -> Candidate:
        blocks = Blocks(spaces, tuple(part for _, part in parts))
        return Candidate(name, blocks, tuple(variance for variance, _ in parts), log_prior)

    return (
        # A little of the action: a settled policy takes one action per state, and then nothing
        # in the data could ever tell that actions matter.
        several("visits of states", 0.0, (8.0, s), (1.0, sa)),
        several("visits of states and actions", -0.5, (3.0, s), (6.0, sa)),
        several("visits of states at steps", -1.0, (3.0, s), (6.0, hs)),
        several("everything", -1.5, (1.5, s), (1.5, sa), (1.5, hs), (4.5, hsa)),
        several("the last state", -0.5, (9.0, final)),
        several("the last states", -0.5, (9.0, late)),
        several("states and actions at steps", -1.5, (9.0, hsa)),
    )


def checkpoint(labels: int) -> int:
    """How many of the first ``labels`` labels the evidence is taken on."""
    if labels < 2:
        return 0
    steps = math.floor(math.log(labels / 2.0) / math.log(GROWTH) + 1e-9)
    return min(labels, math.floor(2.0 * GROWTH**steps + 1e-9))


def weigh(
    choices: Sequence[Candidate], trajectories: Sequence[Trajectory], labels: Floats, seed: int
) -> Floats:
    """The posterior probability of each candidate, shape (candidates,)."""
    scores = np.array([choice.log_prior for choice in choices])
    if len(labels) and 0.0 < labels.mean() < 1.0:
        kept = _subsample(len(labels), seed)
        played = [trajectories[i] for i in kept]
        kernels: dict[FeatureMap, Floats] = {}
        for choice in choices:
            for part in choice.features.parts:
                if part not in kernels:
                    kernels[part] = _kernel(part, played)
        evidence = [_evidence(choice, kernels, labels[kept]) for choice in choices]
        scores += SHARPNESS * len(labels) / len(kept) * np.array(evidence)
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


def _subsample(count: int, seed: int) -> list[int]:
    if count <= MOST_EPISODES:
        return list(range(count))
    rng = generator(seed, _SUBSAMPLE, count)
    chosen: list[int] = np.sort(rng.choice(count, MOST_EPISODES, replace=False)).tolist()
    return chosen


def _kernel(part: FeatureMap, trajectories: Sequence[Trajectory]) -> Floats:
    """X X' of one block in its adaptive scale, shape (n, n)."""
    matrix = stack_rows([part.row(one) for one in trajectories], part.dimension)
    largest = np.zeros(part.dimension)
    np.maximum.at(largest, matrix.indices, matrix.data)
    matrix.data = matrix.data / largest[matrix.indices]
    product = np.asarray((matrix @ matrix.T).todense())
    return product / max(1.0, float(np.trace(product)) / len(trajectories))


def _evidence(choice: Candidate, kernels: dict[FeatureMap, Floats], labels: Floats) -> float:
    parts = choice.features.parts
    kernel = np.full((len(labels), len(labels)), INTERCEPT_VARIANCE)
    for part, variance in zip(parts, choice.variances, strict=True):
        kernel += variance * kernels[part]
    return laplace_log_evidence(kernel, labels).log_evidence
