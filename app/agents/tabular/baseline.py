"""The success of random actions, simulated in a tabular model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from app.learning.arrays import Floats, Integers

if TYPE_CHECKING:
    from app.agents.tabular.insight import TabularInsight

PLAYED = 2000  # the deviation of a probability estimated with so many is at most 0.011
LONGEST = 2000  # steps; simulating longer episodes takes too long for a page


def uniform_success(
    insight: TabularInsight, rng: np.random.Generator, count: int = PLAYED
) -> float:
    """The probability of a good label over ``count`` simulated episodes."""
    H, S, A = insight.weights.shape
    cumulative = np.append(0.0, np.cumsum(insight.probabilities))
    first = np.cumsum(insight.start)
    state = np.searchsorted(first, rng.random(count) * first[-1], side="right").clip(0, S - 1)
    logit = np.full(count, insight.offset)
    memory = np.zeros(count, dtype=np.int64)
    playing = np.arange(count)
    for step in range(H):
        current = state[playing]
        action = _draw(insight, current, rng)
        memory[playing] = insight.update[memory[playing], current, action]
        logit[playing] += insight.weights[step, current, action]
        if step + 1 == H:
            break
        after = _follow(insight, cumulative, current * A + action, rng.random(len(playing)))
        over = after >= S
        _end(insight, logit, memory, playing[over], after[over] - S, step + 1)
        playing = playing[~over]
        state[playing] = after[~over]
    return float(expit(logit + insight.remembered[memory]).mean())


def _draw(insight: TabularInsight, states: Integers, rng: np.random.Generator) -> Integers:
    """Draw a possible action in each of the states."""
    if not insight.allowed.size:
        return rng.integers(insight.visits.shape[1], size=len(states))
    possible = insight.allowed[states]
    ordered = np.argsort(~possible, axis=1, kind="stable")
    return np.asarray(ordered[np.arange(len(states)), rng.integers(possible.sum(axis=1))])


def _follow(
    insight: TabularInsight,
    cumulative: Floats,
    rows: Integers,
    luck: Floats,
) -> Integers:
    """Draw a successor column for each row; an unseen row leads to any state."""
    begin, end = insight.indptr[rows], insight.indptr[rows + 1]
    wanted = cumulative[begin] + luck * (cumulative[end] - cumulative[begin])
    place = np.searchsorted(cumulative, wanted, side="right") - 1
    place = np.minimum(np.maximum(place, begin), np.maximum(end - 1, 0))
    S = insight.weights.shape[1]
    known = insight.columns[place] if len(insight.columns) else np.zeros_like(rows)
    return np.where(begin == end, (luck * S).astype(np.int64), known)


def _end(
    insight: TabularInsight,
    logit: Floats,
    memory: Integers,
    ended: Integers,
    final: Integers,
    step: int,
) -> None:
    """Add what the rest of the horizon contributes to episodes that ended early."""
    S = insight.weights.shape[1]
    logit[ended] += insight.ended_weights[step, final]
    known = final < S
    memory[ended[known]] = insight.ends[memory[ended[known]], final[known]]
