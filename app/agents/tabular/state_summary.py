"""Summaries of a tabular model by state: success, visits and successors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from app.agents.insight import Follower, Pair, SuccessMap
from app.learning.arrays import Floats, Integers

if TYPE_CHECKING:
    from app.agents.tabular.insight import TabularInsight

MOST_WORK = 1e8  # successors read by the sweep over all steps; beyond it success is unknown


def success_map(insight: TabularInsight) -> SuccessMap:
    """One entry for each state; states that were never visited are unknown."""
    first = insight.remembered[insight.update[0]] - insight.remembered[0]  # (S, A)
    possible = insight.possible
    high = np.where(possible, insight.weights.max(axis=0) + first, -np.inf).max(axis=1)
    low = np.where(possible, insight.weights.min(axis=0) + first, np.inf).min(axis=1)
    visits = insight.visits.sum(axis=1)
    success, best = _outlook(insight)
    return SuccessMap(
        success=np.where(visits > 0, success, np.nan),
        effects=np.where(high >= -low, high, low),
        visits=visits,
        bonuses=np.where(possible, insight.bonuses.max(axis=0), 0.0).max(axis=1),
        best_actions=np.where(visits > 0, best, -1),
    )


def _outlook(insight: TabularInsight) -> tuple[Floats, Integers]:
    """The success from each first state, and the first action, shapes (S,).

    It is the probability at the largest expected log-odds: V_h(m, s) = max_a [w_h(s, a) +
    E[V_{h+1}(m', s')]] with m' = update[m, s, a]. The expected log-odds are quick to compute. They
    are close to the log-odds of the expected success if the episodes of a policy are similar.
    """
    H, S, A = insight.weights.shape
    if H * len(insight.remembered) * (len(insight.columns) + S * A) > MOST_WORK:
        return np.full(S, np.nan), np.full(S, -1)
    state, action = np.arange(S)[:, None], np.arange(A)
    onward = np.repeat(insight.remembered[:, None], S * A, axis=1)  # after the last step
    for step in reversed(range(H)):
        after = onward.reshape(-1, S, A)[insight.update, state, action]
        choices = after + insight.weights[step]  # (M, S, A), by the memory before the action
        choices = np.where(insight.possible, choices, -np.inf)
        values = choices.max(axis=2)
        if step:
            onward = _expected(insight, values, step)
    return expit(insight.offset + values[0]), choices[0].argmax(axis=1)


def _expected(insight: TabularInsight, values: Floats, step: int) -> Floats:
    """The expected log-odds after each state and action, when ``step`` comes next: (M, S*A)."""
    S = insight.weights.shape[1]
    unreported = insight.remembered[:, None]
    ends = np.hstack([insight.remembered[insight.ends], unreported]) + insight.ended_weights[step]
    columns = np.hstack([values, ends])  # (M, 2 S + 1), as in TransitionModel
    model = insight.transitions
    expected = np.asarray((model.sparse() @ columns.T).T)
    expected[:, ~model.seen] = columns[:, :S].mean(axis=1, keepdims=True)
    return expected


def least_known(insight: TabularInsight, count: int) -> list[Pair]:
    """The actions tried least in visited states, the least tried first.

    A state that was never visited may be out of reach, so only visited ones are listed.
    """
    A = insight.visits.shape[1]
    been = np.flatnonzero(insight.visits.sum(axis=1) > 0)
    visits = insight.visits[been].ravel()
    bonuses = insight.bonuses.max(axis=0)[been].ravel()
    order = np.lexsort((-bonuses, visits))
    order = order[insight.possible[been].ravel()[order]][:count]
    return [
        Pair(int(been[i // A]), int(i % A), int(visits[i]), float(bonuses[i]))
        for i in order.tolist()
    ]


def followers_of(insight: TabularInsight, state: int, action: int, most: int) -> list[Follower]:
    """The successors of a state and an action, most probable first; empty if never tried."""
    found = row_of(insight, state * insight.visits.shape[1] + action)
    return sorted(found, key=_order)[:most]


def _order(follower: Follower) -> tuple[float, bool, float]:
    """By probability, then in the order of the model's columns."""
    state = np.inf if follower.state is None else follower.state
    return -follower.probability, follower.ended, state


def row_of(insight: TabularInsight, row: int) -> list[Follower]:
    """The successors of row s * A + a, in the order of the columns."""
    S = insight.weights.shape[1]
    entries = slice(int(insight.indptr[row]), int(insight.indptr[row + 1]))
    columns, chances = insight.columns[entries].tolist(), insight.probabilities[entries].tolist()
    found = []
    for column, chance in zip(columns, chances, strict=True):
        state = column - S if column >= S else column
        found.append(Follower(state if state < S else None, column >= S, chance))
    return found
