"""The compiled choice among actions against the same in a few lines of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.planning.fast.choices import choose, cover_knots

AT, PLACE, ROOM = 5, 3, 4  # where a row begins in its arrays, and what lies beyond its end
UNTOUCHED = 77


@pytest.mark.parametrize("count", [1, 2, 3, 40, 77])
@pytest.mark.parametrize("actions", range(1, 12))
def test_every_number_of_actions(actions: int, count: int) -> None:
    rng = np.random.default_rng(100 * actions + count)
    thetas, bonuses = rng.random(actions), rng.normal(size=actions)
    reads = rng.normal(size=(actions, count + ROOM))
    if actions > 2:  # a tie goes to the first
        thetas[-1], bonuses[-1], reads[-1] = thetas[0], bonuses[0], reads[0]
    table = np.full(AT + count + ROOM, float(UNTOUCHED))
    kind = np.uint8 if count % 2 else np.uint16
    chosen: NDArray[np.unsignedinteger] = np.full(PLACE + count + ROOM, UNTOUCHED, dtype=kind)
    excess = np.full(count + 1, np.nan)
    row = reads.ravel(), reads.shape[1], thetas, bonuses, table, AT, count

    down, up = reads[:, :count], reads[:, 1 : count + 1]
    values = (1 - thetas[:, None]) * down + thetas[:, None] * up + bonuses[:, None]
    best = values.max(axis=0)
    choose(*row, chosen, PLACE)
    np.testing.assert_allclose(table[AT : AT + count], best, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(chosen[PLACE : PLACE + count], values.argmax(axis=0))

    # At its knot, 1 - theta into the cell, an action reads the next table at one point alone.
    chords = thetas[:, None] * best[:-1] + (1 - thetas[:, None]) * best[1:]
    lack = np.maximum((reads[:, 1:count] + bonuses[:, None] - chords).max(axis=0), 0.0)
    raised = best + np.maximum(np.append(lack, 0.0), np.append(0.0, lack))
    cover_knots(*row, excess)
    np.testing.assert_allclose(table[AT : AT + count], raised, rtol=0, atol=1e-13)

    for array, first in ((table, AT), (chosen, PLACE)):
        outside = np.delete(array, np.arange(first, first + count))
        assert (outside == UNTOUCHED).all()
