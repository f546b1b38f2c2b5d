"""The grid of the paper's experiment, with one goal: 10 x 15 cells, 30 steps, four moves.

Every episode starts in a cell drawn uniformly. The label is good iff the agent was at the goal or
beside it (one of the four neighbours) at each of the last three steps. Other tasks on grids use
``moves`` too.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.learning.arrays import Integers
from app.simulation.tasks.base import Task
from app.simulation.tasks.judge import Judge
from app.wire.base import JsonObject

# Row and column differences: left, down, right, up, in Gymnasium's order.
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
MOVE_NAMES = ["left", "down", "right", "up"]
ROWS, COLUMNS, HORIZON, LAST = 10, 15, 30, 3
GOAL = (5, 7)


def moves(rows: int, columns: int) -> Integers:
    """The cell that each move leads to, shape (rows * columns, 4); blocked moves stay in place."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    target = [
        np.clip(row + down, 0, rows - 1) * columns + np.clip(column + right, 0, columns - 1)
        for down, right in MOVES
    ]
    return np.stack(target, axis=1)


def drawing(rows: int, columns: int, cells: JsonObject) -> JsonObject:
    """A grid with the kinds of its cells, as pages draw it."""
    return {"kind": "grid", "rows": rows, "cols": columns, "cells": cells, "actions": MOVE_NAMES}


def grid(horizon: int = HORIZON) -> Task:
    """The grid with its goal at row 5, column 7."""
    states, actions = ROWS * COLUMNS, len(MOVES)
    row, column = np.divmod(np.arange(states), COLUMNS)
    near = np.abs(row - GOAL[0]) + np.abs(column - GOAL[1]) <= 1
    transitions = np.zeros((states, actions, 2 * states + 1))
    np.put_along_axis(transitions, moves(ROWS, COLUMNS)[:, :, None], 1.0, axis=2)
    return Task(
        name="grid",
        horizon=horizon,
        start=np.full(states, 1.0 / states),
        transitions=transitions,
        judge=Judge.of_streak(near, LAST, actions),
        features={"kind": "one_hot", "over": ["state"], "steps": {"last": LAST}},
        display=drawing(ROWS, COLUMNS, {"goal": np.flatnonzero(near).tolist()}),
    )


TASKS: dict[str, Callable[[], Task]] = {"grid": grid}
