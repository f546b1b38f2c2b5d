"""A success map as bytes: small enough to keep one for many policy versions."""

from __future__ import annotations

import numpy as np

from app.agents.insight import Axis, SuccessMap
from app.learning.arrays import pack_arrays, unpack_arrays

MOST_CELLS = 10_000  # of a map that is kept
_FORMAT = 1


def pack_map(found: SuccessMap) -> bytes:
    """Pack what a page draws of a map: chances, visits and actions."""
    return pack_arrays(
        {
            "success": found.success.astype(np.float32),
            "visits": found.visits.astype(np.int32),
            "best_actions": found.best_actions.astype(np.int32),
            "axes": np.array(
                [(axis.dimension, axis.low, axis.high, axis.cells) for axis in found.axes],
                dtype=np.float64,
            ).reshape(-1, 4),
        },
        _FORMAT,
    )


def unpack_map(packed: bytes) -> SuccessMap:
    """Unpack what `pack_map` packed. It has no effects and no bonuses."""
    arrays = unpack_arrays(packed, "map", _FORMAT)
    success = arrays["success"].astype(np.float64)
    nothing = np.zeros(len(success))
    axes = tuple(
        Axis(int(dimension), low, high, int(cells))
        for dimension, low, high, cells in arrays["axes"].tolist()
    )
    visits, actions = arrays["visits"].astype(np.int64), arrays["best_actions"].astype(np.int64)
    return SuccessMap(success, nothing, visits, nothing, actions, axes)
