"""Automaton features: any regular property of an episode, given as a finite automaton.

The automaton begins in its state 0 and reads each (state, action) of the episode. phi(tau) is the
feature vector of the automaton's last state, so it is not a sum over steps. With the automaton's
state joined to the environment's state, planning is exact (`AutomatonTables`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from app.errors import BudgetExceeded, InvalidValue
from app.learning.arrays import Floats, Integers
from app.learning.features.base import FeatureMap, FeatureTables, Norms, Row, WeightTables
from app.learning.features.table import check_sizes
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.tracker import Tracker

MOST_PAIRS = 5_000_000  # of a state of the automaton and a state of the environment
LOWER = "give the automaton fewer states, or lower the number of states"


@dataclass(frozen=True)
class AutomatonTables(FeatureTables):
    """Weights of automaton states as tables over tracked states, for planners.

    A tracked state knows the automaton's state. So all weights are added at once, at the last step
    or when the episode ends, and planning needs no accumulator.
    """

    spaces: Spaces
    tracker: Tracker
    vectors: Floats  # (M, d): the features of an episode that ends in each memory

    def spread(self, weights: Floats) -> Floats:
        """w . phi after each action of the last step; shape (H, P, A)."""
        return self._at_last(self.vectors @ weights)

    def remainders(self, weights: Floats) -> Floats:
        """The same for episodes that ended before, shape (H + 1, P + 1)."""
        return self._at_end(self.vectors @ weights)

    def widths(self, norms: Norms) -> tuple[Floats, Floats]:
        """The norm of the whole phi(tau), at the same cells as the weights."""
        sizes = norms(sparse.csr_array(self.vectors))
        return self._at_last(sizes), self._at_end(sizes)

    def collected(self, weights: Floats) -> WeightTables:
        """By the memory alone."""
        H, S, A = self.spaces.shape
        steps, ends = np.zeros((H, S, A)), np.zeros((H + 1, S + 1))
        return WeightTables(steps, ends, self.tracker, self.vectors @ weights)

    def _at_last(self, values: Floats) -> Floats:
        table = np.zeros((self.spaces.horizon, self.tracker.size, self.spaces.actions))
        table[-1] = values[self.tracker.update].reshape(table[-1].shape)
        return table

    def _at_end(self, values: Floats) -> Floats:
        table = np.zeros((self.spaces.horizon + 1, self.tracker.size + 1))
        table[:-1, :-1] = values[self.tracker.memories]
        return table


@dataclass(frozen=True)
class Automaton(FeatureMap):
    """A client's automaton with M states and one vector of d features for each of them."""

    spaces: Spaces
    transitions: Integers  # (M, S, A), or (M, S) where the action does not matter
    vectors: Floats  # (M, d)
    ends: Integers | None = None  # (M, S): after an early end in a state; None: it changes nothing

    def __post_init__(self) -> None:
        _, S, A = self.spaces.shape
        M = len(self.transitions)
        pairs = M * S
        if pairs > MOST_PAIRS:
            what = "features: automaton states times states"
            raise BudgetExceeded(what, pairs, MOST_PAIRS, LOWER)
        _check_table("features.transitions", self.transitions, ((M, S), (M, S, A)))
        if self.ends is not None:
            _check_table("features.ends", self.ends, ((M, S),))
        if self.vectors.ndim != 2 or len(self.vectors) != M or self.dimension < 1:
            expected = f"shape ({M}, d), a vector for each state of the automaton"
            raise InvalidValue("features.vectors", f"{expected}, got {self.vectors.shape}")
        check_sizes("features.vectors", self.vectors)

    def __str__(self) -> str:
        return f"an automaton of {len(self.vectors)} states with {self.dimension} features"

    @property
    def dimension(self) -> int:
        """d, the number of features."""
        return int(self.vectors.shape[-1])

    def row(self, trajectory: Trajectory) -> Row:
        """The vector of the automaton's last state."""
        ended = np.array([trajectory.final if trajectory.ended else -1])
        memory = self._read(trajectory.states[None], trajectory.actions[None], ended)[0]
        indices = np.flatnonzero(self.vectors[memory])
        return indices, self.vectors[memory, indices]

    def rows(self, states: Integers, actions: Integers, ended: Integers) -> sparse.csr_array:
        """The vector of the last state for each episode."""
        return sparse.csr_array(self.vectors[self._read(states, actions, ended)])

    def _read(self, states: Integers, actions: Integers, ended: Integers) -> Integers:
        """The automaton's last state in n episodes of k actions, shape (n,).

        An end after the last step of the horizon is not read: nothing follows it.
        """
        tracker, memory = self.tables.tracker, np.zeros(len(states), dtype=np.int64)
        for state, action in zip(states.T, actions.T, strict=True):
            memory = tracker.update[memory, state, action]
        known = (ended >= 0) & (ended < self.spaces.states)
        if states.shape[1] < self.spaces.horizon:
            memory[known] = tracker.ended[memory[known], ended[known]]
        return memory

    def largest_norm(self) -> float:
        """The largest norm among the automaton states that some episode ends in."""
        return float(np.linalg.norm(self.vectors[self._final_memories()], axis=1).max())

    def _final_memories(self) -> Integers:
        """The memories after 1..H steps, and after an early end."""
        tracker, played = self.tables.tracker, np.zeros(len(self.vectors), dtype=bool)
        final, reached = played.copy(), np.array([0])
        for step in range(self.spaces.horizon):
            reached = np.unique(tracker.update[reached])
            fresh = reached[~played[reached]]
            played[reached] = final[reached] = True
            if step + 1 < self.spaces.horizon:
                final[tracker.ended[fresh]] = True
            if not len(fresh):
                break
            reached = fresh
        return np.flatnonzero(final)

    @cached_property
    def tables(self) -> AutomatonTables:
        """The tables over states joined with the automaton's states."""
        _, S, A = self.spaces.shape
        M = len(self.vectors)
        steps = self.transitions if self.transitions.ndim == 3 else self.transitions[:, :, None]
        ends = np.arange(M)[:, None] if self.ends is None else self.ends
        update, ended = np.broadcast_to(steps, (M, S, A)), np.broadcast_to(ends, (M, S))
        return AutomatonTables(self.spaces, Tracker(update, ended), self.vectors)


def _check_table(field: str, table: Integers, shapes: tuple[tuple[int, ...], ...]) -> None:
    """Refuse a transition table of another shape, or one that leaves the automaton's states."""
    if table.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise InvalidValue(field, f"shape {expected}, got {table.shape}")
    outside = np.argwhere((table < 0) | (table >= len(table)))
    if len(outside):
        place = "".join(f"[{i}]" for i in outside[0].tolist())
        found = int(table[tuple(outside[0])])
        states = f"states of the automaton, from 0 to {len(table) - 1}"
        raise InvalidValue(field, f"{states}, but {place} is {found}")
