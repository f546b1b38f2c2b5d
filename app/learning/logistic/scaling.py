"""Feature scaling: the units in which the weights have their prior, taken from the data.

No fixed scale suits all tasks. In `own` units a rare feature may matter as much as a frequent one,
for tasks where reaching the goal once decides. In `common` units every visit counts the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy import sparse

from app.learning.arrays import Floats

Units = Literal["own", "common"]


def unit_sizes(
    rows: sparse.csr_array, counts: Floats, sizes: Sequence[int], units: Units
) -> Floats:
    """The divisor of each feature, shape (d,), given rows and how often each occurred.

    ``sizes`` are those of the parts that the features consist of. A feature is divided by the
    largest value seen, in `own` units, and each part by the root mean square of its norm where
    that is above one.
    """
    largest = _largest_entries(rows) if units == "own" else np.ones(rows.shape[1])
    often = np.repeat(counts, np.diff(rows.indptr))
    squares = np.bincount(
        rows.indices,
        weights=(rows.data / largest[rows.indices]) ** 2 * often,
        minlength=len(largest),
    )
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    mean = np.add.reduceat(squares, starts) / max(counts.sum(), 1.0)
    return np.asarray(largest * np.repeat(np.sqrt(np.maximum(mean, 1.0)), sizes))


def _largest_entries(rows: sparse.csr_array) -> Floats:
    """The largest absolute value of each column, 1 for an empty column."""
    largest = np.zeros(rows.shape[1])
    np.maximum.at(largest, rows.indices, np.abs(rows.data))
    largest[largest == 0.0] = 1.0
    return largest
