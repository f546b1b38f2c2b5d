"""Collect both items: a 5 x 5 grid, 25 steps, and an item in each of two corners.

The state is the cell and the items held: ``held * 25 + cell``, ``held`` a bit mask. Entering an
item's cell picks it up. The label is good iff both items are held at the last step, so visit counts
reveal it: only good episodes visit a state that holds both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.simulation.tasks.base import Task
from app.simulation.tasks.grid import MOVES, drawing, moves
from app.simulation.tasks.judge import Judge

SIDE, HORIZON = 5, 25
ITEMS = (SIDE - 1, SIDE * SIDE - 1)  # upper and lower right; the start is upper left
BOTH = 3
HELD = ("no item", "the upper item", "the lower item", "both items")


def collect(horizon: int = HORIZON) -> Task:
    """The grid with its two items."""
    cells, actions = SIDE * SIDE, len(MOVES)
    held, cell = np.divmod(np.arange((BOTH + 1) * cells), cells)
    target = moves(SIDE, SIDE)[cell]
    found = np.zeros(cells, dtype=np.int64)
    found[list(ITEMS)] = 1, 2
    successor = (held[:, None] | found[target]) * cells + target
    transitions = np.zeros((len(cell), actions, 2 * len(cell) + 1))
    np.put_along_axis(transitions, successor[:, :, None], 1.0, axis=2)
    return Task(
        name="collect",
        horizon=horizon,
        start=np.eye(len(cell))[0],
        transitions=transitions,
        judge=Judge.of_streak(held == BOTH, 1, actions),
        features={"kind": "one_hot", "over": ["state"], "steps": "all"},
        display=drawing(SIDE, SIDE, {"start": [0], "item": list(ITEMS)})
        | {
            "places": cell.tolist(),
            "names": [_name(*pair) for pair in zip(held, cell, strict=True)],
        },
    )


def _name(held: int, cell: int) -> str:
    row, column = divmod(int(cell), SIDE)
    return f"row {row + 1}, column {column + 1}, with {HELD[int(held)]}"


TASKS: dict[str, Callable[[], Task]] = {"collect": collect}
