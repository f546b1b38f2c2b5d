"""The automaton that reads states and knows which events have happened, and tables on it.

Each event has a small automaton; the memory is the tuple of their states. Two reachable tuples
differ in some event's future, so no smaller automaton tells the events apart:

    visited (a)     0 -a-> 1
    both (a, b)     0 -a-> 1 -b-> 3,  0 -b-> 2 -a-> 3
    then (a, b)     0 -a-> 1 -b-> 2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from app.errors import BudgetExceeded
from app.learning.arrays import Floats, Integers
from app.learning.features.base import FeatureTables, Norms, WeightTables
from app.learning.spaces import Spaces
from app.learning.world.tracker import Tracker

MOST_MEMORIES = 4096
MOST_PAIRS = 5_000_000  # of a memory and a state
LOWER = "list fewer events, or events that share their states"

_HAPPENED = {"visited": 1, "both": 3, "then": 2}

Described = tuple[str, tuple[int, ...]]  # the kind of an event, and its states


@dataclass(frozen=True)
class EventTables(FeatureTables):
    """Weights of events as tables over tracked states, for planners.

    A tracked state knows which events have happened. So all weights are added at once, at the last
    step or when the episode ends, and planning needs no accumulator.
    """

    spaces: Spaces
    tracker: Tracker
    happened: Floats  # (M, d): 1 where an event has happened, for each memory

    def spread(self, weights: Floats) -> Floats:
        """w . phi of the events that have happened, at the last step; shape (H, P, A)."""
        return self._at_last(self.happened @ weights)

    def remainders(self, weights: Floats) -> Floats:
        """The same for episodes that ended before, shape (H + 1, P + 1)."""
        return self._at_end(self.happened @ weights)

    def widths(self, norms: Norms) -> tuple[Floats, Floats]:
        """The norm of the whole phi(tau), at the same cells as the weights."""
        sizes = norms(sparse.csr_array(self.happened))
        return self._at_last(sizes), self._at_end(sizes)

    def collected(self, weights: Floats) -> WeightTables:
        """By the memory alone."""
        H, S, A = self.spaces.shape
        steps, ends = np.zeros((H, S, A)), np.zeros((H + 1, S + 1))
        return WeightTables(steps, ends, self.tracker.update, self.happened @ weights)

    def _at_last(self, values: Floats) -> Floats:
        table = np.zeros((self.spaces.horizon, self.tracker.size, self.spaces.actions))
        table[-1] = values[self.tracker.memories][:, None]
        return table

    def _at_end(self, values: Floats) -> Floats:
        table = np.zeros((self.spaces.horizon + 1, self.tracker.size + 1))
        table[:-1, :-1] = values[self.tracker.memories]
        return table


def unroll(events: Sequence[Described], spaces: Spaces) -> EventTables:
    """The smallest automaton that tells the events apart, and the tables on it."""
    memories, update = _explore(events, spaces.states)
    ends = [_HAPPENED[kind] for kind, _ in events]
    happened = (np.array(memories) == ends).astype(np.float64)
    return EventTables(spaces, Tracker(update), happened)


def _explore(events: Sequence[Described], states: int) -> tuple[list[tuple[int, ...]], Integers]:
    """Every reachable memory, the initial one first, and the transitions between them."""
    readers: dict[int, list[int]] = {}
    for number, (_, named) in enumerate(events):
        for state in named:
            readers.setdefault(state, []).append(number)
    places = {(0,) * len(events): 0}
    memories = list(places)
    moves: list[dict[int, int]] = []
    for memory in memories:  # the list grows during the loop
        moves.append({})
        for state, numbers in readers.items():
            after = list(memory)
            for number in numbers:
                after[number] = _progress(*events[number], memory[number], state)
            place = places.setdefault(tuple(after), len(places))
            if place == len(memories):
                memories.append(tuple(after))
            moves[-1][state] = place
        if len(memories) > MOST_MEMORIES:
            raise BudgetExceeded("events: automaton states", len(memories), MOST_MEMORIES, LOWER)
    pairs = len(memories) * states
    if pairs > MOST_PAIRS:
        lower = f"{LOWER}, or lower the number of states"
        raise BudgetExceeded("events: states joined with memories", pairs, MOST_PAIRS, lower)
    update = np.repeat(np.arange(len(memories))[:, None], states, axis=1)
    for place, move in enumerate(moves):
        update[place, list(move)] = list(move.values())
    return memories, update


def _progress(kind: str, named: tuple[int, ...], before: int, state: int) -> int:
    """The state of one event's automaton after entering ``state``, which the event names."""
    if kind == "visited":
        return 1
    if kind == "both":
        return before | (1 if state == named[0] else 2)
    if state == named[0]:
        return max(before, 1)
    return 2 if before else 0
