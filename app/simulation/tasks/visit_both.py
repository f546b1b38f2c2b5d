"""Visit both corners: a 5 x 5 grid, 20 steps, from the upper left corner.

The label is good iff the agent was in the upper right and in the lower left corner, in any order.
Unlike in `collect` the state does not say which were visited already: no sum over steps gives the
label, and the best policy must remember.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.simulation.tasks.base import Task
from app.simulation.tasks.compass import MOVES, moves
from app.simulation.tasks.verdict import Verdict

SIDE, HORIZON = 5, 20
CORNERS = (SIDE - 1, SIDE * (SIDE - 1))


def visit_both(horizon: int = HORIZON) -> Task:
    """The grid with its two corners to visit."""
    cells, actions = SIDE * SIDE, len(MOVES)
    transitions = np.zeros((cells, actions, 2 * cells + 1))
    np.put_along_axis(transitions, moves(SIDE, SIDE)[:, :, None], 1.0, axis=2)
    one, other = CORNERS
    return Task(
        name="visit-both",
        horizon=horizon,
        start=np.eye(cells)[0],
        transitions=transitions,
        verdict=Verdict.of_visits(CORNERS, cells, actions),
        features={
            "kind": "events",
            "events": [{"visited": one}, {"visited": other}, {"both": [one, other]}],
        },
    )


TASKS: dict[str, Callable[[], Task]] = {"visit-both": visit_both}
