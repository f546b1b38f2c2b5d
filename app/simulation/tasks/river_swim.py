"""RiverSwim (Strehl and Littman 2008, with the ends of Osband et al. 2013).

A chain of states and two actions. Swimming left (0) always succeeds. Swimming right (1), against
the current, advances with probability 0.35, stays with 0.6 and slips back with 0.05; from the left
end it advances with 0.6 and stays with 0.4; at the right end it stays with 0.6 and slips back
with 0.4. Every episode starts at the left end. The usual rewards become one label: good with
probability mu(per_visit * n - bar), n the number of steps taken at the right end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from app.simulation.tasks.base import Task
from app.simulation.tasks.grid import drawing
from app.simulation.tasks.judge import Judge

LEFT, RIGHT = 0, 1


def river_swim(states: int, horizon: int, per_visit: float, bar: float) -> Task:
    """The river of ``states`` states."""
    transitions = np.zeros((states, 2, 2 * states + 1))
    middle = np.arange(1, states - 1)
    transitions[0, LEFT, 0] = 1.0
    transitions[1:, LEFT, : states - 1] = np.eye(states - 1)
    transitions[0, RIGHT, [0, 1]] = 0.4, 0.6
    transitions[middle, RIGHT, middle - 1] = 0.05
    transitions[middle, RIGHT, middle] = 0.6
    transitions[middle, RIGHT, middle + 1] = 0.35
    transitions[-1, RIGHT, [states - 2, states - 1]] = 0.4, 0.6
    visits = np.zeros((states, 2), dtype=np.int64)
    visits[-1] = 1
    return Task(
        name=f"riverswim-{states}",
        horizon=horizon,
        start=np.eye(states)[0],
        transitions=transitions,
        judge=Judge.of_points(visits, horizon, unit=per_visit, offset=-bar),
        features={"kind": "one_hot", "over": ["state"], "steps": "all"},
        display=drawing(1, states, {"start": [0], "goal": [states - 1]})
        | {"actions": ["swim left", "swim right"]},
    )


TASKS: dict[str, Callable[[], Task]] = {
    "riverswim-6": partial(river_swim, 6, 20, per_visit=4.0, bar=3.5),
    "riverswim-12": partial(river_swim, 12, 40, per_visit=4.0, bar=3.5),
}
