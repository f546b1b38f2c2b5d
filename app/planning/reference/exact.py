"""The exact planner: brute force over histories, for tiny problems; the oracle of the others.

A history s_1, a_1, ..., s_h is a node of a tree; the best policy picks the best action at every
node, so its value follows backwards from the ends of episodes, whatever an episode is worth:

    Q(history, a) = sum_s' P(s'|s,a) V(history, a, s') + sum_e P(ended e|s,a) worth(history, a, e)

and V = max_a Q. At the last step Q(history, a) is the worth itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.errors import BudgetExceeded
from app.learning.arrays import Booleans, Floats, Integers
from app.learning.world.model import Successors, TransitionModel
from app.planning.policies.history import HistoryPolicy
from app.planning.problem import Plan, PlanBudget

Worth = Callable[[Integers, Integers, Integers], Floats]
"""The values of whole episodes, many at a time.

``worth(states, actions, ended)`` takes n episodes of k actions each: ``states`` and ``actions``
of shape (n, k), and ``ended`` of shape (n,): the state an episode ended in after its k actions
(S if it was not reported), or -1 if it reached the horizon. It returns n numbers.
"""

HISTORY_BUDGET = PlanBudget(cells=5e6)
_BYTES_PER_HISTORY = 40  # state, edge, probability, value and choice
_CHUNK = 1 << 16
_LOWER = "lower the horizon, the number of states or actions, or use a sum-decomposable agent"


def plan_histories(
    start: Floats,
    transitions: TransitionModel,
    horizon: int,
    worth: Worth,
    budget: PlanBudget = HISTORY_BUDGET,
    allowed: Booleans | None = None,
) -> Plan:
    """The best policy when an episode is worth any function of its whole trajectory.

    ``allowed`` (S, A) are the possible actions; None allows all of them.
    """
    began = time.perf_counter()
    nodes = count_histories(start, transitions, horizon, budget)
    tree = _Tree.grow(start, transitions, horizon)
    choices, value = _backward(tree, worth, allowed)
    S = transitions.states
    policy = HistoryPolicy(
        actions=transitions.actions,
        states=S,
        levels=np.cumsum([0, *(len(level.states) for level in tree.levels)]),
        keys=np.concatenate([level.edges * S + level.states for level in tree.levels]),
        choices=np.concatenate(choices),
        allowed=allowed,
    )
    seconds = time.perf_counter() - began
    return Plan("exact", policy, value, value, value, nodes, nodes * _BYTES_PER_HISTORY, seconds)


def count_histories(
    start: Floats,
    transitions: TransitionModel,
    horizon: int,
    budget: PlanBudget = HISTORY_BUDGET,
) -> int:
    """How many histories of at most ``horizon`` states the model allows; refuses over budget."""
    S, A = transitions.states, transitions.actions
    allowed = min(budget.cells, budget.bytes / _BYTES_PER_HISTORY)
    live = (transitions.columns < S) & (transitions.probabilities > 0)
    columns = transitions.columns[live]
    origins = np.repeat(np.arange(S * A), np.diff(transitions.indptr))[live] // A
    unseen = np.count_nonzero(~transitions.seen.reshape(S, A), axis=1)
    histories = (start > 0).astype(np.float64)
    total = 0.0
    for _ in range(horizon):
        total += histories.sum()
        if total * A > allowed:
            raise BudgetExceeded("exact plan: histories", total * A, allowed, _LOWER)
        onward = np.bincount(columns, weights=histories[origins], minlength=S)
        histories = onward + histories @ unseen
    return int(total) * A


@dataclass(frozen=True)
class _Level:
    """The histories of one step: the edge each came by, its last state, P(state | edge)."""

    edges: Integers
    states: Integers
    probabilities: Floats


@dataclass(frozen=True)
class _Tree:
    """The histories of every step, and the model that grew them."""

    model: TransitionModel
    successors: Successors
    levels: list[_Level]

    @classmethod
    def grow(cls, start: Floats, model: TransitionModel, horizon: int) -> _Tree:
        """Every history of at most ``horizon`` states."""
        states = np.flatnonzero(start > 0)
        first = _Level(np.zeros(len(states), dtype=np.int64), states, start[states])
        tree = cls(model, Successors(model), [first])
        for _ in range(horizon - 1):
            edges, columns, chances = tree._follow(tree.levels[-1])
            live = columns < model.states
            tree.levels.append(_Level(edges[live], columns[live], chances[live]))
        return tree

    def ends(self, h: int) -> tuple[Integers, Integers, Floats]:
        """The (edge, ended in, probability) after the actions of step h."""
        edges, columns, chances = self._follow(self.levels[h])
        over = columns >= self.model.states
        return edges[over], columns[over] - self.model.states, chances[over]

    def paths(self, h: int, edges: Integers) -> tuple[Integers, Integers]:
        """The states and actions that lead through edges of step h, both (n, h + 1)."""
        shape = (len(edges), h + 1)
        states, actions = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
        for step in range(h, -1, -1):
            nodes, actions[:, step] = np.divmod(edges, self.model.actions)
            states[:, step] = self.levels[step].states[nodes]
            edges = self.levels[step].edges[nodes]
        return states, actions

    def _follow(self, level: _Level) -> tuple[Integers, Integers, Floats]:
        A = self.model.actions
        return self.successors.follow((level.states[:, None] * A + np.arange(A)).ravel())


def _backward(tree: _Tree, worth: Worth, allowed: Booleans | None) -> tuple[list[Integers], float]:
    """The best action of every history, and the value at the start."""
    A, last = tree.model.actions, len(tree.levels) - 1
    edges = np.arange(len(tree.levels[last].states) * A)
    Q = _worths(tree, last, edges, np.full(len(edges), -1), worth)
    choices: list[Integers] = []
    for h in range(last, 0, -1):
        V = _improve(Q.reshape(-1, A), tree.levels[h].states, allowed, choices)
        level, size = tree.levels[h], len(tree.levels[h - 1].states) * A
        Q = np.zeros(size)
        np.add.at(Q, level.edges, level.probabilities * V)
        edges, ended, chances = tree.ends(h - 1)
        np.add.at(Q, edges, chances * _worths(tree, h - 1, edges, ended, worth))
    V = _improve(Q.reshape(-1, A), tree.levels[0].states, allowed, choices)
    return choices[::-1], float(tree.levels[0].probabilities @ V)


def _improve(
    Q: Floats, states: Integers, allowed: Booleans | None, choices: list[Integers]
) -> Floats:
    """Append the best possible actions to ``choices`` and return their values."""
    if allowed is not None:
        Q = np.where(allowed[states], Q, -np.inf)
    choices.append(Q.argmax(axis=1))
    best: Floats = Q.max(axis=1)
    return best


def _worths(tree: _Tree, h: int, edges: Integers, ended: Integers, worth: Worth) -> Floats:
    """The worth of the episodes that stop after edges of step h, a chunk at a time."""
    values = np.empty(len(edges))
    for first in range(0, len(edges), _CHUNK):
        part = slice(first, first + _CHUNK)
        states, actions = tree.paths(h, edges[part])
        values[part] = worth(states, actions, ended[part])
    return values
