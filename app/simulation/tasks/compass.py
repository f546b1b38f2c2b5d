"""Four moves on a rectangle of cells, shared by the tasks that are laid out on one."""

from __future__ import annotations

import numpy as np

from app.learning.arrays import Integers

# Row and column differences: left, down, right, up, in Gymnasium's order.
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


def moves(rows: int, columns: int) -> Integers:
    """The cell that each move leads to, shape (rows * columns, 4); blocked moves stay."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    target = [
        np.clip(row + down, 0, rows - 1) * columns + np.clip(column + right, 0, columns - 1)
        for down, right in MOVES
    ]
    return np.stack(target, axis=1)
