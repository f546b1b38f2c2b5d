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

from app.learning.arrays import Booleans, Floats
from app.learning.world.model import TransitionModel

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
        most = _best_after(self.cells.max(axis=(1, 2)), self.ended.max(axis=1))
        least = -_best_after(-self.cells.min(axis=(1, 2)), -self.ended.min(axis=1))
        return self.cells + least[:, None, None], self.cells + most[:, None, None]

    def span(self) -> float:
        """The width of what can be collected from any step on."""
        least, most = self.bounds()
        return float((most.max(axis=(1, 2)) - least.min(axis=(1, 2))).max())


def _best_after(steps: Floats, ended: Floats) -> Floats:
    """The most after each step, (H,), from the best of every step and of every end."""
    after = np.zeros(len(steps))
    for h in range(len(steps) - 2, -1, -1):
        after[h] = max(steps[h + 1] + after[h + 1], ended[h + 1])
    return after


@dataclass(frozen=True)
class EulerPlan:
    """A Markov policy and the bounds on the best value from every step and state on."""

    actions: NDArray[np.int64]  # (H, S)
    upper: Floats  # (H, S): V_up
    lower: Floats  # (H, S): V_low


def confidence(states: int, actions: int, steps: float, delta: float) -> float:
    """c = ln(4 S A T / delta), T the number of steps that will be taken in all."""
    return math.log(4.0 * states * actions) + math.log(steps) - math.log(delta)


class Bonus:
    """b(V) for the counts n of every (s, a): infinite for n < 2.

    It is fixed + slope (sqrt(Var_p(V)) + ||V_up - V_low||_{2,p}), since Bv^2 = 2 c.
    """

    def __init__(self, counts: ArrayLike, c: float, span: float) -> None:
        n = np.asarray(counts, dtype=np.float64)
        known = np.maximum(n, 2.0)
        j, b_p = span * c / 3.0, span * math.sqrt(2.0 * c)
        fixed = j / (known - 1.0) + (4.0 * j + b_p) / known
        self.fixed = np.where(n >= 2.0, fixed, np.inf)
        self.slope = np.sqrt(2.0 * c / known)

    def __call__(self, variance: Floats | float, distance: Floats | float) -> Floats:
        """b(V) for Var_p(V) and ||V_up - V_low||_{2,p}."""
        bonus: Floats = self.fixed + self.slope * (np.sqrt(variance) + distance)
        return bonus


def plan_euler(
    reward: KnownReward,
    model: TransitionModel,
    counts: Floats,
    c: float,
    span: float,
    allowed: Booleans | None = None,
) -> EulerPlan:
    """One backward pass; ``counts`` (S*A,) are the known successors behind ``model``.

    Of actions that are equally promising the one tried least is taken. ``allowed`` (S, A) are the
    possible actions; None allows all of them.
    """
    H, S, A = reward.cells.shape
    n = counts.reshape(S, A)
    table, bonus = model.sparse(), Bonus(n, c, span)
    least, most = reward.bounds()
    actions = np.empty((H, S), dtype=np.int64)
    upper, lower = np.empty((2, H, S))
    here = np.arange(S)
    for h in range(H - 1, -1, -1):
        q_up, q_low = reward.cells[h], reward.cells[h]
        if h < H - 1:
            rest = reward.ended[h + 1]
            up, low = np.append(upper[h + 1], rest), np.append(lower[h + 1], rest)
            q_up, q_low = _step(table, up, low, bonus)
            q_up = np.minimum(most[h], reward.cells[h] + q_up)
            q_low = np.maximum(least[h], reward.cells[h] + q_low)
        if allowed is not None:
            q_up = np.where(allowed, q_up, -np.inf)
        actions[h] = _argmax(q_up, n)
        upper[h], lower[h] = q_up[here, actions[h]], q_low[here, actions[h]]
    return EulerPlan(actions, upper, lower)


def _step(table: sparse.csr_array, up: Floats, low: Floats, bonus: Bonus) -> tuple[Floats, Floats]:
    """p V_up + b(V_up) and p V_low - b(V_low) for every (s, a)."""
    columns = np.stack([up, up * up, low, low * low, (up - low) ** 2], axis=1)
    m_up, s_up, m_low, s_low, square = (
        part.reshape(bonus.fixed.shape) for part in (table @ columns).T
    )
    distance = np.sqrt(square)
    above = bonus(np.maximum(s_up - m_up**2, 0.0), distance)
    below = bonus(np.maximum(s_low - m_low**2, 0.0), distance)
    return m_up + above, m_low - below


def _argmax(values: Floats, counts: Floats) -> NDArray[np.int64]:
    """The best action of each state, of ties the one with the fewest counts; shape (S,)."""
    tied = values >= values.max(axis=1, keepdims=True) - TIE
    return np.asarray(np.where(tied, counts, np.inf).argmin(axis=1))
