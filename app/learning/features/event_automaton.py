"""Compile events into one automaton that reads states and knows which events have happened.

Each event has a small automaton; the memory is the tuple of their states. Two reachable tuples
differ in some event's future, so no smaller automaton tells the events apart:

    visited (a)     0 -a-> 1
    both (a, b)     0 -a-> 1 -b-> 3,  0 -b-> 2 -a-> 3
    then (a, b)     0 -a-> 1 -b-> 2
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.errors import BudgetExceeded
from app.learning.arrays import Integers
from app.learning.features.automaton import MOST_PAIRS, Automaton
from app.learning.spaces import Spaces

MOST_MEMORIES = 4096
LOWER = "list fewer events, or events that share their states"

_HAPPENED = {"visited": 1, "both": 3, "then": 2}

Described = tuple[str, tuple[int, ...]]  # the kind of an event, and its states


def compile_events(events: Sequence[Described], spaces: Spaces) -> Automaton:
    """The smallest automaton that tells the events apart.

    Its features are 1 for the events that have happened. It reads the state that an episode ended
    in like any other.
    """
    memories, update = _explore(events, spaces.states)
    finished = [_HAPPENED[kind] for kind, _ in events]
    happened = (np.array(memories) == finished).astype(np.float64)
    return Automaton(spaces, update, happened, update)


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
