"""EULER (Zanette and Brunskill 2019): optimistic planning for a reward that is known.

With n the known successors of (s, a), p their empirical distribution, c = ln(4 S A T / delta), R
the range of returns, and

    J = R c / 3,    Bp = R sqrt(2 c),    Bv = sqrt(2 c),

the bonus of a step that is followed by others is

    b(V) = sqrt(2 Var_p(V) c / n) + J / (n - 1)
         + ((4 J + Bp) / sqrt(n) + Bv ||V_up - V_low||_{2,p}) / sqrt(n),

V_up = min(most, r + p V_up' + b(V_up)), the action is its argmax, and with that action
V_low = max(least, r + p V_low' - b(V_low)). What is most and least possible from a step and state
on follows from the reward alone. With fewer than two known successors b is infinite; the last
step has no successor, so nothing of it is uncertain and its bonus is zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from app.learning.design import Floats
from app.learning.planning.problem import TransitionModel

TIE = 1e-12  # actions whose values differ by less are as good as each other


@dataclass(frozen=True)
class KnownReward:
    """r_h(s, a), and what an episode still collects once it has ended."""

    cells: Floats  # (H, S, A)
    ended: Floats  # (H + 1, S + 1): the whole remainder when found ended at step h; row H is zero

    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the most that can be collected after (h, s, a), both (H, S, A).

        Nothing is assumed of the transitions: any state or end may follow.
        """
        least, most = np.array(self.cells), np.array(self.cells)
        for h in range(len(self.cells) - 2, -1, -1):
            rest = self.ended[h + 1]
            least[h] += min(least[h + 1].min(axis=1).min(), rest.min())
            most[h] += max(most[h + 1].max(axis=1).max(), rest.max())
        return least, most

    def span(self) -> float:
        """The width of what can be collected from any step on."""
        least, most = self.bounds()
        return float((most.max(axis=(1, 2)) - least.min(axis=(1, 2))).max())


@dataclass(frozen=True)
class EulerPlan:
    """A Markov policy and the bounds on the best value from every step and state on."""

    actions: NDArray[np.int64]  # (H, S)
    upper: Floats  # (H, S): V_up
    lower: Floats  # (H, S): V_low


def confidence(states: int, actions: int, steps: float, delta: float) -> float:
    """c = ln(4 S A T / delta), T the number of steps that will be taken in all."""
    return math.log(4.0 * states * actions) + math.log(steps) - math.log(delta)


def bonus(
    variance: ArrayLike, distance: ArrayLike, counts: ArrayLike, c: float, span: float
) -> Floats:
    """b(V) for Var_p(V), ||V_up - V_low||_{2,p} and n; infinite for n < 2."""
    n = np.asarray(counts, dtype=np.float64)
    known = np.maximum(n, 2.0)
    j, b_p, b_v = span * c / 3.0, span * math.sqrt(2.0 * c), math.sqrt(2.0 * c)
    root = np.sqrt(known)
    finite = np.sqrt(2.0 * np.asarray(variance) * c / known) + j / (known - 1.0)
    finite = finite + ((4.0 * j + b_p) / root + b_v * np.asarray(distance)) / root
    return np.where(n >= 2.0, finite, np.inf)


def plan_euler(
    reward: KnownReward, model: TransitionModel, counts: Floats, c: float, span: float
) -> EulerPlan:
    """One backward pass; ``counts`` (S*A,) are the known successors behind ``model``.

    Of actions that are equally promising the one tried least is taken.
    """
    H, S, A = reward.cells.shape
    n = counts.reshape(S, A)
    table = _matrix(model)
    least, most = reward.bounds()
    actions = np.empty((H, S), dtype=np.int64)
    upper, lower = np.empty((2, H, S))
    here = np.arange(S)
    for h in range(H - 1, -1, -1):
        q_up, q_low = reward.cells[h], reward.cells[h]
        if h < H - 1:
            rest = reward.ended[h + 1]
            up, low = np.append(upper[h + 1], rest), np.append(lower[h + 1], rest)
            q_up, q_low = _step(table, up, low, n, c, span)
            q_up = np.minimum(most[h], reward.cells[h] + q_up)
            q_low = np.maximum(least[h], reward.cells[h] + q_low)
        actions[h] = _argmax(q_up, n)
        upper[h], lower[h] = q_up[here, actions[h]], q_low[here, actions[h]]
    return EulerPlan(actions, upper, lower)


def _step(
    table: sparse.csr_array, up: Floats, low: Floats, n: Floats, c: float, span: float
) -> tuple[Floats, Floats]:
    """p V_up + b(V_up) and p V_low - b(V_low) for every (s, a)."""
    columns = np.stack([up, up * up, low, low * low, (up - low) ** 2], axis=1)
    m_up, s_up, m_low, s_low, square = (part.reshape(n.shape) for part in (table @ columns).T)
    distance = np.sqrt(square)
    above = bonus(np.maximum(s_up - m_up**2, 0.0), distance, n, c, span)
    below = bonus(np.maximum(s_low - m_low**2, 0.0), distance, n, c, span)
    return m_up + above, m_low - below


def _argmax(values: Floats, counts: Floats) -> NDArray[np.int64]:
    """The best action of each state, of ties the one with the fewest counts; shape (S,)."""
    tied = values >= values.max(axis=1, keepdims=True) - TIE
    return np.asarray(np.where(tied, counts, np.inf).argmin(axis=1))


def _matrix(model: TransitionModel) -> sparse.csr_array:
    """The seen rows, shape (S*A, 2*S + 1); an unseen one is empty, its bonus is infinite."""
    shape = (model.states * model.actions, 2 * model.states + 1)
    return sparse.csr_array((model.probabilities, model.columns, model.indptr), shape=shape)
