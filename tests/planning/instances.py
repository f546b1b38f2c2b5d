"""Random planning problems, small enough to enumerate, that cover what planners stumble over."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from app.learning.arrays import Floats
from app.learning.world.model import TransitionModel
from app.planning.problem import PlanningProblem

Episode = tuple[tuple[int, ...], tuple[int, ...], int]  # states, actions, ended in or -1

LOGITS = ("plain", "one-hot", "sparse steps", "large", "zero", "negative", "grid")
BONUSES = ("none", "small", "heavy", "signed", "trade")
ENDS = ("never", "some", "often", "unreported")


def random_problem(
    seed: int,
    widths: bool = False,
    paths: float = 2e4,
    max_horizon: int = 5,
    logits: str | None = None,
) -> PlanningProblem:
    """A problem of at most 4 states, 3 actions and ``max_horizon`` steps.

    Its policies have at most ``paths`` paths, rounding (twofold, fourfold with ``widths``)
    included.
    """
    rng = np.random.default_rng([seed, widths])
    S, A = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    ends = str(rng.choice(ENDS))
    matrix = _transitions(rng, S, A, ends)
    unseen = rng.random(S * A) < rng.choice([0.0, 0.3])
    matrix[unseen] = 0.0
    start = _distribution(rng, S, int(rng.integers(1, S + 1)))
    fan = max(np.count_nonzero(matrix, axis=1).max(), S if unseen.any() else 1)
    H = int(rng.integers(1, max_horizon + 1))
    while H > 1 and np.count_nonzero(start) * (fan * (4.0 if widths else 2.0)) ** (H - 1) > paths:
        H -= 1
    kind = logits or str(rng.choice(LOGITS))
    weights = _weights(rng, kind, H, S, A)
    offset = float(rng.choice([0.0, rng.normal(), rng.normal(scale=3.0)]))
    ended_weights = _ended(rng.normal(size=(H, S + 1)) * rng.choice([0.0, 0.3, 2.0]))
    return PlanningProblem(
        start=start,
        transitions=TransitionModel.from_dense(matrix, S, A),
        weights=weights,
        bonuses=_bonuses(rng, str(rng.choice(BONUSES)), weights),
        ended_weights=ended_weights,
        offset=offset,
        widths=_widths(rng, H, S, A) if widths else None,
        ended_widths=_ended(rng.random((H, S + 1)) * rng.choice([0.0, 0.1, 0.5]))
        if widths
        else None,
    )


def _distribution(rng: np.random.Generator, size: int, support: int) -> Floats:
    row = np.zeros(size)
    row[rng.choice(size, support, replace=False)] = rng.dirichlet(np.ones(support))
    return row


def _transitions(rng: np.random.Generator, S: int, A: int, ends: str) -> Floats:
    """Rows over the S states and the S + 1 ends; dense, sparse or deterministic."""
    matrix = np.zeros((S * A, 2 * S + 1))
    most = int(rng.choice([1, 2, S]))
    for row in matrix:
        row[:S] = _distribution(rng, S, int(rng.integers(1, min(most, S) + 1)))
        if ends != "never" and rng.random() < (0.4 if ends == "some" else 0.8):
            share = rng.choice([0.1, 0.5, 1.0])
            where = 2 * S if ends == "unreported" else int(rng.integers(S, 2 * S + 1))
            row *= 1.0 - share
            row[where] = share
    return matrix


def _weights(rng: np.random.Generator, kind: str, H: int, S: int, A: int) -> Floats:
    weights = rng.normal(size=(H, S, A))
    if kind == "one-hot":
        weights = np.repeat(rng.normal(size=(1, S, A)), H, axis=0)
    elif kind == "sparse steps":
        weights[rng.random(H) < 0.6] = 0.0
    elif kind == "large":
        weights = rng.uniform(-30.0, 30.0, size=(H, S, A))
    elif kind == "zero":
        weights[:] = 0.0
    elif kind == "negative":
        weights = -np.abs(3.0 * weights)
    elif kind == "grid":
        weights = rng.integers(-4, 5, size=(H, S, A)) / 8.0
    return weights


def _bonuses(rng: np.random.Generator, kind: str, weights: Floats) -> Floats:
    bonuses = np.zeros_like(weights)
    if kind == "small":
        bonuses = 0.1 * rng.random(weights.shape)
    elif kind == "heavy":
        bonuses = 2.0 * rng.random(weights.shape)
    elif kind == "signed":
        bonuses = rng.normal(size=weights.shape)
    elif kind == "trade":  # a bonus for what lowers the logit, so that choices hang on the sum
        bonuses = -0.2 * weights
    return bonuses


def _widths(rng: np.random.Generator, H: int, S: int, A: int) -> Floats:
    widths = rng.random((H, S, A)) * rng.choice([0.02, 0.2, 0.5, 1.5])
    if rng.random() < 0.3:
        widths[rng.random(widths.shape) < 0.5] = 0.0
    if rng.random() < 0.2:
        widths = np.round(widths * 16) / 16
    return widths


def _ended(remainders: Floats) -> Floats:
    """With the row of zeros for step H."""
    return np.vstack([remainders, np.zeros(remainders.shape[1])])


def worth_of(problem: PlanningProblem, episode: Episode, space: str) -> float:
    """What one episode is worth, step by step as the definition has it."""
    states, actions, ended = episode
    x, y, z = problem.offset, 0.0, 0.0
    for h, (s, a) in enumerate(zip(states, actions, strict=True)):
        x += problem.weights[h, s, a]
        y += 0.0 if problem.widths is None else problem.widths[h, s, a]
        z += problem.bonuses[h, s, a]
    if ended >= 0:
        x += problem.ended_weights[len(states), ended]
        y += 0.0 if problem.ended_widths is None else problem.ended_widths[len(states), ended]
    mu = 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0
    return (mu if space == "logit" else min(mu + y, 1.0)) + z


def episodes(problem: PlanningProblem) -> Iterator[tuple[float, Episode]]:
    """Every possible episode, with the product of its transition probabilities."""
    matrix = problem.transitions.dense()
    S, A, H = problem.states, problem.actions, problem.horizon

    def onward(
        chance: float, states: tuple[int, ...], actions: tuple[int, ...]
    ) -> Iterator[tuple[float, Episode]]:
        for a in range(A):
            taken = (*actions, a)
            if len(states) == H:
                yield chance, (states, taken, -1)
                continue
            row = matrix[states[-1] * A + a]
            for column in np.flatnonzero(row):
                share = chance * row[column]
                if column < S:
                    yield from onward(share, (*states, int(column)), taken)
                else:
                    yield share, (states, taken, int(column) - S)

    for s in np.flatnonzero(problem.start):
        yield from onward(float(problem.start[s]), (int(s),), ())
