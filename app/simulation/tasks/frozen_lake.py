"""FrozenLake, slippery, with the maps of Gymnasium. Gymnasium itself is not needed.

A move goes where it is meant to, or to one of the two sides, each with probability 1/3. Holes and
the goal end the episode; the label is good iff it ended in the goal. The horizons are Gymnasium's
limits for the two maps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from app.simulation.tasks.base import Task
from app.simulation.tasks.grid import MOVES, drawing, moves
from app.simulation.tasks.judge import Judge

MAPS = {
    4: ("SFFF", "FHFH", "FFFH", "HFFG"),
    8: (
        "SFFFFFFF",
        "FFFFFFFF",
        "FFFHFFFF",
        "FFFFFHFF",
        "FFFHFFFF",
        "FHHFFFHF",
        "FHFFHFHF",
        "FFFHFFFG",
    ),
}
"""Cells by the side of the lake: start, frozen, hole, goal."""

_AHEAD = 1.0 / 3.0
_ASIDE = (1.0 - _AHEAD) / 2.0  # to the last bit as Gymnasium computes it


def frozen_lake(side: int, horizon: int) -> Task:
    """The lake of ``side`` x ``side`` cells."""
    cells = np.array(list("".join(MAPS[side])))
    states, actions = len(cells), len(MOVES)
    is_end, target = np.isin(cells, ["H", "G"]), moves(side, side)
    transitions = np.zeros((states, actions, 2 * states + 1))
    for state in range(states):
        for action in range(actions):
            if is_end[state]:  # unused: an episode ends when it arrives there
                transitions[state, action, states + state] = 1.0
                continue
            for turn, probability in ((-1, _ASIDE), (0, _AHEAD), (1, _ASIDE)):
                successor = int(target[state, (action + turn) % actions])
                column = successor + states * bool(is_end[successor])
                transitions[state, action, column] += probability
    return Task(
        name=f"frozenlake-{side}x{side}",
        horizon=horizon,
        start=(cells == "S").astype(np.float64),
        transitions=transitions,
        judge=Judge.of_end(cells == "G", actions),
        features={"kind": "one_hot", "over": ["state"], "steps": "all"},
        display=drawing(
            side,
            side,
            {
                kind: np.flatnonzero(cells == letter).tolist()
                for kind, letter in (("start", "S"), ("hole", "H"), ("goal", "G"))
            },
        ),
    )


TASKS: dict[str, Callable[[], Task]] = {
    "frozenlake-4x4": partial(frozen_lake, 4, 100),
    "frozenlake-8x8": partial(frozen_lake, 8, 200),
}
