"""Ridge regression, for one problem or many small ones at once."""

from __future__ import annotations

import numpy as np

from app.learning.arrays import Floats, Integers


def ridge(features: Floats, targets: Floats, penalty: float) -> Floats:
    """argmin_B |F B - Y|^2 + penalty |B|^2 for each problem of a stack, shape (..., p, q).

    ``features`` F has the shape (..., n, p), ``targets`` Y the shape (..., n, q).
    """
    transposed = np.swapaxes(features, -1, -2)
    gram = transposed @ features
    gram += penalty * np.eye(features.shape[-1])
    return np.asarray(np.linalg.solve(gram, transposed @ targets), dtype=np.float64)


def one_hot(actions: Integers, count: int) -> Floats:
    """A row with a single 1 for each action, shape (..., count)."""
    return np.eye(count)[actions]
