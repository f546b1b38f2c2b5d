"""The paper's dynamic programme over three discretised sums; for tiny problems.

Paper, appendix "A Dynamic Programming Approach": the sums of w, v and b lie in [-zeta, zeta], cut
into m = ceil(12 H^2 zeta / epsilon) intervals psi_j of width c = epsilon / (6 H^2) with centres
nu_j = -zeta + (j - 1/2) c, and sigma(x) is the number of the interval that holds x. Then

    V_H(s,i,j,k) = max_a min{mu(nu_i + w) + nu_j + v, 1} + nu_k + b
    V_h(s,i,j,k) = max_a E_s' V_{h+1}(s', sigma(nu_i + w), sigma(nu_j + v), sigma(nu_k + b))

and the policy plays the maximiser at (s, sigma(sum w), sigma(sum v), sigma(sum b)), the sums being
the true ones of its history. The intercept joins the sum of w as its start.

The bounds. Numbered from 0, sigma(nu_i + w) = i + floor(w / c + 1/2): every i moves alike. With
(1/4, 1, 1) the Lipschitz constants of the value in the three sums, 9/4 together:
- A centre is within c/2 of what it stands for, and holding an index within the m intervals moves it
  no further from a true sum, for those lie in [-zeta, zeta]. So along any history the three errors
  grow by at most c/2 a step, and |V* - V_hat| <= H (9/4) c/2 = 3 epsilon / (16 H).
- V_hat itself differs by at most (9/4) c between neighbouring indices, by induction, since a move
  keeps their distance. The index of the true sum after a step and the moved index before it differ
  by at most one, so each step but the last costs the policy at most (9/4) c, and the last half of
  that: |V^policy - V_hat| <= (H - 1/2) (9/4) c = 3 (2 H - 1) epsilon / (16 H^2).
(The printed induction gets epsilon / (2 H) for both. It takes the value of the policy to be
Lipschitz in the sums, which it is not, as actions change between intervals; the result stands.)
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from app.errors import BudgetExceeded, InvalidValue
from app.learning.arrays import Arrays, Floats, Integers
from app.planning.policies.draws import possible_actions
from app.planning.problem import Plan, PlanBudget, PlanningProblem

_LOWER = "raise epsilon, or lower the horizon, the number of states or the size of the sums"
_LIPSCHITZ = 9.0 / 4.0


def plan_paper(
    problem: PlanningProblem,
    epsilon: float,
    zeta: float | None = None,
    budget: PlanBudget | None = None,
) -> Plan:
    """Plan in reward space by the paper's tensors; without widths that is logit space too.

    ``zeta`` bounds the three sums; by default it is the smallest bound that the problem allows.
    """
    if not epsilon > 0.0 or not math.isfinite(epsilon):
        raise InvalidValue("epsilon", "a positive number")
    began = time.perf_counter()
    needed = smallest_zeta(problem)
    if zeta is not None and not needed <= zeta < math.inf:
        raise InvalidValue("zeta", f"at least {needed:.6g}, the largest sum")
    net = _Net.over(needed if zeta is None else zeta, epsilon, problem.horizon)
    cells, size = _measure(problem.states, problem.horizon, net, budget or PlanBudget())
    policy, value = _sweep(problem, net)
    H = problem.horizon
    upper = value + H * _LIPSCHITZ * net.width / 2.0
    lower = value - (H - 0.5) * _LIPSCHITZ * net.width
    seconds = time.perf_counter() - began
    return Plan("paper", policy, value, upper, lower, cells, size, seconds)


def clipped(problem: PlanningProblem) -> PlanningProblem:
    """The same problem with no width above 1: min{mu + sum v, 1} is then 1 anyway.

    It keeps zeta, and with it the tensors, small where the paper's radius is huge.
    """
    if problem.widths is None or problem.ended_widths is None:
        return problem
    widths, ended = np.minimum(problem.widths, 1.0), np.minimum(problem.ended_widths, 1.0)
    return replace(problem, widths=widths, ended_widths=ended)


def check_paper_budget(
    states: int, horizon: int, zeta: float, epsilon: float, budget: PlanBudget
) -> None:
    """Refuse tensors for sums of up to ``zeta`` that would exceed the budget."""
    _measure(states, horizon, _Net.over(zeta, epsilon, horizon), budget)


def smallest_zeta(problem: PlanningProblem) -> float:
    """The largest absolute value of the three sums at any time of any possible episode."""
    widths, ended_widths = _widths(problem)
    nothing = np.zeros_like(problem.ended_weights)
    sums = (
        (problem.weights, problem.ended_weights, problem.offset),
        (widths, ended_widths, 0.0),
        (problem.bonuses, nothing, 0.0),
    )
    bound = 0.0
    for steps, remainders, first in sums:
        for sign in (1.0, -1.0):
            bound = max(bound, _largest_sum(problem, sign * steps, sign * remainders, sign * first))
    return bound


def _largest_sum(
    problem: PlanningProblem, steps: Floats, remainders: Floats, first: float
) -> float:
    """The largest partial sum, by a forward pass over what is possible."""
    S, model = problem.states, problem.transitions
    possible = model.probabilities > 0
    rows = np.repeat(np.arange(S * problem.actions), np.diff(model.indptr))[possible]
    reached = np.where(problem.start > 0, first, -np.inf)
    largest = first
    for h in range(problem.horizon):
        after = (reached[:, None] + steps[h]).ravel()
        largest = max(largest, float(after.max()))
        onward = np.full(2 * S + 1, -np.inf)
        onward[:S] = after[~model.seen].max(initial=-np.inf)
        np.maximum.at(onward, model.columns[possible], after[rows])
        if h < problem.horizon - 1:
            largest = max(largest, float((onward[S:] + remainders[h + 1]).max()))
        reached = onward[:S]
    return largest


def _widths(problem: PlanningProblem) -> tuple[Floats, Floats]:
    if problem.widths is None or problem.ended_widths is None:
        return np.zeros_like(problem.weights), np.zeros_like(problem.ended_weights)
    return problem.widths, problem.ended_widths


@dataclass(frozen=True)
class _Net:
    """The intervals: how many, how wide, and where they begin."""

    zeta: float
    width: float
    count: int

    @classmethod
    def over(cls, zeta: float, epsilon: float, horizon: int) -> _Net:
        """The paper's net; one interval when there is nothing to cut."""
        width = epsilon / (6.0 * horizon**2)
        count = min(12.0 * horizon**2 * zeta / epsilon, 1e18)  # far over any budget
        return cls(zeta, width, max(math.ceil(count), 1))

    def centres(self) -> Floats:
        """nu, shape (m,)."""
        return (np.arange(self.count, dtype=np.float64) + 0.5) * self.width - self.zeta

    def index(self, x: float) -> int:
        """sigma(x), from 0."""
        return min(max(math.floor((x + self.zeta) / self.width), 0), self.count - 1)

    def moved(self, x: float) -> Integers:
        """sigma(nu_i + x) for every i, shape (m,)."""
        indices = np.arange(self.count) + math.floor(x / self.width + 0.5)
        return np.clip(indices, 0, self.count - 1)


@dataclass(frozen=True)
class PaperPolicy:
    """Plays a_hat at the intervals of the true sums; remembers its history s_1, a_1, s_2, ..."""

    kind: ClassVar[str] = "paper"

    zeta: float
    width: float
    sums: Floats  # (3, H, S, A): w, v and b
    offset: float
    choices: NDArray[np.int16]  # (H, S, m, m, m): a_hat

    def act(
        self,
        step: int,
        state: int,
        memory: tuple[int, ...],
        uniform: float,  # noqa: ARG002 - the policy is deterministic
    ) -> tuple[int, tuple[int, ...]]:
        """The action at ``step`` in ``state``, and the history with it."""
        _, action, after = self.branches(step, state, memory)[0]
        return action, after

    def follow(
        self,
        step: int,  # noqa: ARG002 - every policy takes them
        state: int,
        memory: tuple[int, ...],
        uniform: float,  # noqa: ARG002
        action: int,
    ) -> tuple[int, ...]:
        """The history with ``action``."""
        return *memory, state, action

    def branches(
        self, step: int, state: int, memory: tuple[int, ...]
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """The one (probability, action, memory) that ``act`` can give."""
        past = (np.arange(step), np.array(memory[::2], int), np.array(memory[1::2], int))
        net = _Net(self.zeta, self.width, self.choices.shape[-1])
        totals = [float(table[past].sum()) for table in self.sums]
        totals[0] += self.offset
        cell = tuple(net.index(total) for total in totals)
        action = int(self.choices[(step, state, *cell)])
        return [(1.0, action, (*memory, state, action))]

    def arrays(self) -> Arrays:
        """Everything the policy knows, as plain arrays."""
        scalars = np.array([self.zeta, self.width, self.offset])
        return {"scalars": scalars, "sums": self.sums, "choices": self.choices}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PaperPolicy:
        """The policy that ``arrays`` came from."""
        zeta, width, offset = (float(number) for number in arrays["scalars"])
        return cls(zeta, width, arrays["sums"], offset, arrays["choices"])


def _measure(states: int, horizon: int, net: _Net, budget: PlanBudget) -> tuple[int, int]:
    """Cells and bytes of the tensors; refuses over budget."""
    cells = horizon * states * net.count**3
    # Actions of all steps in two bytes, two steps of values, and what one (s, a) works on.
    size = 2 * cells + 8 * (2 * states + 5) * net.count**3
    if cells > budget.cells:
        raise BudgetExceeded("paper plan: cells", cells, budget.cells, _LOWER)
    if size > budget.bytes:
        raise BudgetExceeded("paper plan: bytes", size, budget.bytes, _LOWER)
    return cells, size


def _sweep(problem: PlanningProblem, net: _Net) -> tuple[PaperPolicy, float]:
    """The tensors a_hat and V_hat, from the last step to the first."""
    H, S, m = problem.horizon, problem.states, net.count
    tensors = _Tensors(problem, net)
    choices = np.zeros((H, S, m, m, m), dtype=np.int16)
    ahead, here = np.empty((S, m, m, m)), np.empty((S, m, m, m))
    for h in range(H - 1, -1, -1):
        ahead, here = here, ahead
        for s in range(S):
            first, *others = possible_actions(problem.actions, problem.allowed, s)
            choices[h, s] = first
            here[s] = tensors.quality(h, s, first, ahead)
            for a in others:
                quality = tensors.quality(h, s, a, ahead)
                choices[h, s][quality > here[s]] = a
                np.maximum(here[s], quality, out=here[s])
    origin = (net.index(problem.offset), net.index(0.0), net.index(0.0))
    value = float(problem.start @ here[(slice(None), *origin)])
    policy = PaperPolicy(net.zeta, net.width, tensors.sums, float(problem.offset), choices)
    return policy, value


class _Tensors:
    """What an action is worth at every (i, j, k)."""

    def __init__(self, problem: PlanningProblem, net: _Net) -> None:
        self._problem, self._net, self._centres = problem, net, net.centres()
        self._matrix = problem.transitions.dense()
        widths, self._ended_widths = _widths(problem)
        self.sums = np.stack([problem.weights, widths, problem.bonuses])

    def quality(self, h: int, s: int, a: int, ahead: Floats) -> Floats:
        """E V_{h+1} after action a, or the worth of the episode at the last step; (m, m, m)."""
        S, m = self._problem.states, self._net.count
        w, v, b = (float(table[h, s, a]) for table in self.sums)
        if h == self._problem.horizon - 1:
            return self._worth(w, v, b)
        row = self._matrix[s * self._problem.actions + a]
        expected = np.zeros((m, m, m))
        for after in np.flatnonzero(row[:S]):
            expected += row[after] * ahead[after]
        total: Floats = expected[np.ix_(*(self._net.moved(x) for x in (w, v, b)))]
        # Nothing is decided after the end, so that nothing needs rounding.
        for e in np.flatnonzero(row[S:]):
            rest = (h + 1, int(e))
            more = self._problem.ended_weights[rest], self._ended_widths[rest]
            total += row[S + e] * self._worth(w + float(more[0]), v + float(more[1]), b)
        return total

    def _worth(self, w: float, v: float, b: float) -> Floats:
        """min{mu(nu_i + w) + nu_j + v, 1} + nu_k + b, shape (m, m, m)."""
        nu = self._centres
        rewards = np.minimum(expit(nu + w)[:, None] + (nu + v)[None, :], 1.0)
        worth: Floats = rewards[:, :, None] + (nu + b)[None, None, :]
        return worth
