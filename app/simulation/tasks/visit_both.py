"""Visit two cells: a label that is no sum over steps, and a best policy with memory.

`visit-both` is a 5 x 5 grid, 20 steps from the upper left corner; the label is good iff the agent
was in the upper right and in the lower left corner, in any order. Unlike in `collect` the state
does not show which were visited. `corridor` is the same in a row of four cells, 6 steps from the
second one, good iff both ends were visited: small enough to enumerate its histories.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from app.simulation.tasks.base import Task
from app.simulation.tasks.grid import MOVE_NAMES, MOVES, drawing, moves
from app.simulation.tasks.judge import Judge

SIDE, HORIZON = 5, 20
CELLS, SHORT = 4, 6


def visit_both(rows: int, columns: int, horizon: int, start: int, name: str) -> Task:
    """A grid whose last cell of the first row and first cell of the last row must be visited.

    In a single row these are its two ends.
    """
    cells, places = rows * columns, (columns - 1, (rows - 1) * columns)
    target = moves(rows, columns) if rows > 1 else moves(rows, columns)[:, :: len(MOVES) // 2]
    transitions = np.zeros((cells, target.shape[1], 2 * cells + 1))
    np.put_along_axis(transitions, target[:, :, None], 1.0, axis=2)
    both = [{"visited": place} for place in places] + [{"both": list(places)}]
    return Task(
        name=name,
        horizon=horizon,
        start=np.eye(cells)[start],
        transitions=transitions,
        judge=Judge.of_visits(places, cells, target.shape[1]),
        features={"kind": "events", "events": both},
        display=drawing(rows, columns, {"start": [start], "item": list(places)})
        | ({} if rows > 1 else {"actions": MOVE_NAMES[:: len(MOVES) // 2]}),
    )


TASKS: dict[str, Callable[[], Task]] = {
    "corridor": partial(visit_both, 1, CELLS, SHORT, 1, "corridor"),
    "visit-both": partial(visit_both, SIDE, SIDE, HORIZON, 0, "visit-both"),
}
