"""What an agent believes of each place: what it is worth, how well it is known, what follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.agents.tabular_insight import Insight
from app.learning.arrays import Floats, Integers


@dataclass(frozen=True)
class Places:
    """One value for each state."""

    weights: Floats  # the most that one step there adds to the logit of success, or takes from it
    visits: Integers
    bonuses: Floats  # the largest of its actions and steps


@dataclass(frozen=True)
class Pair:
    """A state and an action."""

    state: int
    action: int
    visits: int
    bonus: float


@dataclass(frozen=True)
class Follower:
    """What may follow a state and an action; ``state`` is None where nobody said where it ended."""

    state: int | None
    ended: bool
    probability: float


def places_of(insight: Insight) -> Places:
    """Every state."""
    high, low = insight.weights.max(axis=(0, 2)), insight.weights.min(axis=(0, 2))
    largest = np.where(high >= -low, high, low)
    entered = insight.remembered[insight.update[0]] - insight.remembered[0]
    visits = insight.visits.sum(axis=1)
    return Places(largest + entered, visits, insight.bonuses.max(axis=(0, 2)))


def least_known(insight: Insight, count: int) -> list[Pair]:
    """The actions that were tried least where the agent has been, the least known first.

    Where it has never been may be where nothing leads to, so only states that it knows are named.
    """
    A = insight.visits.shape[1]
    been = np.flatnonzero(insight.visits.sum(axis=1) > 0)
    visits = insight.visits[been].ravel()
    bonuses = insight.bonuses.max(axis=0)[been].ravel()
    order = np.lexsort((-bonuses, visits))[:count]
    return [
        Pair(int(been[i // A]), int(i % A), int(visits[i]), float(bonuses[i]))
        for i in order.tolist()
    ]


def followers_of(insight: Insight, state: int, action: int, most: int) -> list[Follower]:
    """What followed a state and an action, the likeliest first; nothing if it was never tried."""
    _, S, A = insight.weights.shape
    row = state * A + action
    entries = slice(int(insight.indptr[row]), int(insight.indptr[row + 1]))
    pairs = zip(
        insight.columns[entries].tolist(), insight.probabilities[entries].tolist(), strict=True
    )
    found = []
    for column, chance in sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:most]:
        place = column - S if column >= S else column
        found.append(Follower(place if place < S else None, column >= S, chance))
    return found
