"""FrozenLake, slippery: Gymnasium's own environment, read from its transition table.

Holes and the goal end the episode; the label is good iff it ended in the goal. The horizons
are Gymnasium's limits for the two maps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from app.simulation.extras import load_extra
from app.simulation.tasks.base import Task
from app.simulation.tasks.judge import Judge


def frozen_lake(side: int, horizon: int) -> Task:
    """The lake of ``side`` x ``side`` cells."""
    name = f"{side}x{side}"
    environment = load_extra("gymnasium").make("FrozenLake-v1", map_name=name, is_slippery=True)
    lake = environment.unwrapped
    states, actions = len(lake.P), len(lake.P[0])
    transitions = np.zeros((states, actions, 2 * states + 1))
    for state, rows in lake.P.items():
        for action, outcomes in rows.items():
            for probability, successor, _, terminated in outcomes:
                transitions[state, action, successor + states * terminated] += probability
    goal = lake.desc.ravel() == b"G"
    start = np.asarray(lake.initial_state_distrib, dtype=np.float64)
    environment.close()
    return Task(
        name=f"frozenlake-{name}",
        horizon=horizon,
        start=start,
        transitions=transitions,
        judge=Judge.of_end(goal, actions),
        features={"kind": "one_hot", "over": ["state"], "steps": "all"},
    )


TASKS: dict[str, Callable[[], Task]] = {
    "frozenlake-4x4": partial(frozen_lake, 4, 100),
    "frozenlake-8x8": partial(frozen_lake, 8, 200),
}
