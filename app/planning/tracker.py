"""States joined with the memory of an automaton that reads them: plain models become tracked ones.

The automaton has M memories and begins in memory 0. Entering state s with memory m leads to memory
``update[m, s]``. A tracked state is a pair (memory after entering s, s); only the P pairs that can
occur are numbered. The automaton is known, so nothing but plain transitions is ever learned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from app.errors import BudgetExceeded
from app.learning.arrays import Floats, Integers
from app.planning.policies.tracked import TrackedPolicy
from app.planning.problem import Plan, PlanBudget, TransitionModel
from app.planning.successors import Successors

_ENTRY_ARRAYS, _CELL_ARRAYS = 8, 6  # arrays of 8 bytes that lifting and planning hold at a time
_LOWER = "list fewer events, or lower the number of states or actions or the horizon"


@dataclass(frozen=True)
class Tracker:
    """The pairs of an automaton and plain states, and the ways between both."""

    update: Integers  # (M, S)

    @cached_property
    def _pairs(self) -> tuple[Integers, Integers]:
        """The pairs as memory * S + state, (P,), and which of them an entry leads to, (M, S)."""
        S = self.update.shape[1]
        pairs, places = np.unique(self.update * S + np.arange(S), return_inverse=True)
        return pairs, places.reshape(self.update.shape)

    @property
    def size(self) -> int:
        """P, the number of tracked states."""
        return len(self._pairs[0])

    @property
    def states(self) -> Integers:
        """The plain state of each tracked state, (P,)."""
        return np.asarray(self._pairs[0] % self.update.shape[1])

    @property
    def memories(self) -> Integers:
        """The memory of each tracked state, (P,)."""
        return np.asarray(self._pairs[0] // self.update.shape[1])

    @property
    def entered(self) -> Integers:
        """The tracked state after entering a state with a memory, (M, S)."""
        return self._pairs[1]

    def start(self, start: Floats) -> Floats:
        """The distribution of the first tracked state, (P,)."""
        tracked = np.zeros(self.size)
        tracked[self.entered[0]] = start
        return tracked

    def transitions(self, model: TransitionModel) -> TransitionModel:
        """The model on tracked states.

        An unseen row leads to every plain state, which is not every tracked one: it is written
        out. An end that nobody located tells the automaton nothing more, so it counts as an end
        in the tracked state that the action was taken in.
        """
        S, A, P = model.states, model.actions, self.size
        rows = (self.states[:, None] * A + np.arange(A)).ravel()
        places, columns, chances = Successors(model).follow(rows)
        over, nowhere = columns >= S, columns == 2 * S
        entered = self.entered[self.memories[places // A], np.where(nowhere, 0, columns % S)]
        entered = np.where(nowhere, places // A, entered) + np.where(over, P, 0)
        counts = np.bincount(places, minlength=len(rows))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return TransitionModel(P, A, indptr, entered, chances)

    def plain(self, plan: Plan) -> Plan:
        """A plan on tracked states as a plan whose policy acts on plain ones."""
        policy = TrackedPolicy(
            self.entered.astype(np.int32), self.memories.astype(np.int32), plan.policy
        )
        return replace(plan, policy=policy)

    def check(self, actions: int, horizon: int, budget: PlanBudget) -> None:
        """Refuse what could not be planned for while nothing is known of the transitions."""
        pairs = self.size * actions
        entries = pairs * (self.update.shape[1] + 1)
        needed = 8.0 * (_ENTRY_ARRAYS * entries + _CELL_ARRAYS * horizon * pairs)
        if self.size * horizon > budget.cells:
            raise BudgetExceeded(
                "plan with events: points", self.size * horizon, budget.cells, _LOWER
            )
        if needed > budget.bytes:
            raise BudgetExceeded("plan with events: bytes", needed, budget.bytes, _LOWER)
