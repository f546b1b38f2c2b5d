"""Tracked states: states joined with the memory of an automaton that reads them.

The automaton has M memories and begins in memory 0. Entering state s with memory m leads to memory
``update[m, s]``. A tracked state is a pair (memory after entering s, s); only the P pairs that can
occur are numbered. The automaton is known, so only the plain transitions have to be learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.learning.arrays import Floats, Integers
from app.learning.world.model import Successors, TransitionModel


@dataclass(frozen=True)
class Tracker:
    """The tracked states of an automaton, and the mappings between them and plain states."""

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

        An unseen row leads to every plain state, which is not every tracked state, so it is
        written out. An end in an unreported state does not move the automaton: it counts as an
        end in the tracked state that the action was taken in.
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
