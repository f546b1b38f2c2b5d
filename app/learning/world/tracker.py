"""Tracked states: states joined with the memory of an automaton that reads the episode.

The automaton has M memories and begins in memory 0. Action a in state s with memory m leads to
memory ``update[m, s, a]``; an early end in state e leads from memory m to ``ended[m, e]``. The
tracked state ``m * S + s`` is state s with memory m before the action. The automaton is known, so
only the plain transitions have to be learned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.learning.arrays import Floats, Integers
from app.learning.world.model import Successors, TransitionModel


@dataclass(frozen=True)
class Tracker:
    """An automaton over P = M S tracked states."""

    update: Integers  # (M, S, A)
    ended: Integers  # (M, S)

    @property
    def size(self) -> int:
        """P, the number of tracked states."""
        return int(self.ended.size)

    @property
    def states(self) -> Integers:
        """The plain state of each tracked state, (P,)."""
        return np.asarray(np.arange(self.size) % self.ended.shape[1])

    @property
    def memories(self) -> Integers:
        """The memory of each tracked state, (P,)."""
        return np.asarray(np.arange(self.size) // self.ended.shape[1])

    def start(self, start: Floats) -> Floats:
        """The distribution of the first tracked state, (P,)."""
        return np.append(start, np.zeros(self.size - len(start)))

    def transitions(self, model: TransitionModel) -> TransitionModel:
        """The model on tracked states; "ended in (m, s)" has the memory after the end.

        An unseen row leads to every plain state, which is not every tracked state, so it is
        written out. An end in an unreported state does not move the automaton.
        """
        S, A, P = model.states, model.actions, self.size
        rows = (self.states[:, None] * A + np.arange(A)).ravel()
        places, columns, chances = Successors(model).follow(rows)
        over, nowhere = columns >= S, columns == 2 * S
        state = np.where(nowhere, 0, columns % S)
        memory = self.update.reshape(-1)[places]
        memory = np.where(over & ~nowhere, self.ended[memory, state], memory)
        counts = np.bincount(places, minlength=len(rows))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return TransitionModel(P, A, indptr, memory * S + state + np.where(over, P, 0), chances)
