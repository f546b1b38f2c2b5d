"""Labelled trajectories: the training data, as sparse feature rows with counts of labels.

Equal rows are merged into one with n labels, of which p are 1. So a task with few distinct
trajectories stays small no matter how many labels it gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from app.errors import BudgetExceeded, InvalidValue, SnapshotError
from app.learning.arrays import Arrays, Floats, Integers
from app.learning.logistic.design import Design

SparseRow = tuple[ArrayLike, ArrayLike]  # indices and values of one phi(tau)

MOST_ENTRIES = 2**31 - 1  # offsets are 32 bits wide, which makes the products faster
DENSE_FROM, DENSE_UNTIL = 0.25, 0.12  # filled share at which the dense copy begins, and ends
DENSE_COLUMNS = 2000


class LabelledTrajectories:
    """A multiset of (row, label) pairs in a space of ``dimension`` features.

    ``add`` and ``remove`` cost O(entries of the row), amortised; ``design`` copies no row.
    """

    def __init__(self, dimension: int) -> None:
        if not 1 <= dimension <= MOST_ENTRIES:
            raise InvalidValue("dimension", f"a number from 1 to {MOST_ENTRIES}")
        self.dimension = int(dimension)
        self._slots: dict[bytes, int] = {}
        self._rows = 0
        self._dead = 0
        self._offsets = np.zeros(9, dtype=np.int32)
        self._indices = np.empty(64, dtype=np.int32)
        self._values = np.empty(64)
        self._counts = np.zeros(8)
        self._positives = np.zeros(8)
        self._dense: Floats | None = None
        self._dense_rows = 0

    def add(self, row: SparseRow, label: int) -> None:
        """Add one label, 0 or 1, of the trajectory with features ``row`` (indices, values)."""
        indices, values = self._canonical(row)
        label = _binary(label)
        key = _key(indices, values)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._append(indices, values)
            self._slots[key] = slot
        elif self._counts[slot] == 0:
            self._dead -= 1
        self._counts[slot] += 1
        self._positives[slot] += label

    def remove(self, row: SparseRow, label: int) -> None:
        """Remove one label that was added before."""
        indices, values = self._canonical(row)
        label = _binary(label)
        slot = self._slots.get(_key(indices, values))
        if slot is None or self._counts[slot] == 0:
            raise InvalidValue("row", "a row that has a label")
        positives = self._positives[slot]
        if (positives if label else self._counts[slot] - positives) == 0:
            raise InvalidValue("label", f"a label {label} that was given to this row")
        self._counts[slot] -= 1
        self._positives[slot] -= label
        self._dead += self._counts[slot] == 0

    @property
    def labels(self) -> int:
        """The number of labels."""
        return int(self._counts[: self._rows].sum())

    @property
    def positives(self) -> int:
        """The number of labels that are 1."""
        return int(self._positives[: self._rows].sum())

    @property
    def distinct(self) -> int:
        """The number of distinct rows with a label."""
        return self._rows - self._dead

    def design(self, intercept: bool = False) -> Design:
        """The distinct rows, shape (distinct, dimension); later calls do not change this view."""
        self._compact()
        n, entries = self._rows, self._offsets[self._rows]
        parts = self._values[:entries], self._indices[:entries], self._offsets[: n + 1]
        rows = sparse.csr_array(parts, shape=(n, self.dimension))
        rows.has_canonical_format = True
        return Design(rows, self._mirror(rows), intercept)

    def counts(self) -> tuple[Floats, Floats]:
        """The labels n and the positive labels p of each row of ``design``, shape (distinct,)."""
        self._compact()
        return self._counts[: self._rows].copy(), self._positives[: self._rows].copy()

    def arrays(self) -> Arrays:
        """The data as named arrays, for storage."""
        self._compact()
        n, entries = self._rows, self._offsets[self._rows]
        return {
            "dimension": np.array(self.dimension),
            "offsets": self._offsets[: n + 1].copy(),
            "indices": self._indices[:entries].copy(),
            "values": self._values[:entries].copy(),
            "counts": self._counts[:n].copy(),
            "positives": self._positives[:n].copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LabelledTrajectories:
        """Restore the data from `arrays`, with the rows in the same order."""
        try:
            return cls._restored(arrays)
        except (KeyError, ValueError, TypeError, IndexError, InvalidValue) as error:
            raise SnapshotError(f"labelled trajectories: {error!r}") from error

    @classmethod
    def _restored(cls, arrays: Mapping[str, NDArray[Any]]) -> LabelledTrajectories:
        data = cls(int(arrays["dimension"]))
        offsets = np.asarray(arrays["offsets"], dtype=np.int64)
        counts = np.asarray(arrays["counts"], dtype=np.float64)
        positives = np.asarray(arrays["positives"], dtype=np.float64)
        if not len(offsets) - 1 == len(counts) == len(positives):
            raise ValueError("lengths differ")
        whole = (counts == np.floor(counts)) & (positives == np.floor(positives))
        if not (whole & (counts >= 1) & (positives >= 0) & (positives <= counts)).all():
            raise ValueError("improper counts")
        if offsets[0] != 0 or offsets[-1] != len(arrays["indices"]) or (np.diff(offsets) < 0).any():
            raise ValueError("improper offsets")
        for i, (first, last) in enumerate(pairwise(offsets)):
            data.add((arrays["indices"][first:last], arrays["values"][first:last]), 0)
            if data._rows != i + 1:
                raise ValueError("a row twice")
        data._counts[: data._rows] = counts
        data._positives[: data._rows] = positives
        return data

    def _canonical(self, row: SparseRow) -> tuple[Integers, Floats]:
        """Sort indices, merge repeats and drop zeros, so that equal rows have equal bytes."""
        try:
            indices, values = np.asarray(row[0]), np.asarray(row[1], dtype=np.float64)
        except (TypeError, ValueError, IndexError) as error:
            raise InvalidValue("row", "indices and values") from error
        if indices.ndim != 1 or indices.shape != values.shape:
            raise InvalidValue("row", "as many indices as values, in one dimension each")
        if not len(indices):
            return indices.astype(np.int64), values
        if not np.issubdtype(indices.dtype, np.integer):
            raise InvalidValue("row.indices", "integers")
        if not 0 <= indices.min() <= indices.max() < self.dimension:
            raise InvalidValue("row.indices", f"numbers from 0 to {self.dimension - 1}")
        if not np.isfinite(values).all():
            raise InvalidValue("row.values", "finite numbers")
        if not (indices[1:] > indices[:-1]).all():
            indices, inverse = np.unique(indices, return_inverse=True)
            values = np.bincount(inverse, values).astype(np.float64)
        used = values != 0.0
        if not used.all():
            indices, values = indices[used], values[used]
        return indices.astype(np.int64), values

    def _append(self, indices: Integers, values: Floats) -> int:
        slot, start = self._rows, int(self._offsets[self._rows])
        end = start + len(indices)
        if end > MOST_ENTRIES:
            raise BudgetExceeded("feature entries", end, MOST_ENTRIES, "use fewer features per row")
        self._offsets = _grown(self._offsets, slot + 2)
        self._counts = _grown(self._counts, slot + 1)
        self._positives = _grown(self._positives, slot + 1)
        self._indices = _grown(self._indices, end)
        self._values = _grown(self._values, end)
        self._offsets[slot + 1] = end
        self._indices[start:end] = indices
        self._values[start:end] = values
        self._counts[slot] = self._positives[slot] = 0.0
        self._rows += 1
        return slot

    def _compact(self) -> None:
        """Drop the rows without labels. The arrays are copied because older views may be in use."""
        if not self._dead:
            return
        n = self._rows
        alive = self._counts[:n] > 0
        lengths = np.diff(self._offsets[: n + 1])
        entries = np.repeat(alive, lengths)
        moved = np.cumsum(alive) - 1
        total = self._offsets[n]
        self._slots = {key: int(moved[slot]) for key, slot in self._slots.items() if alive[slot]}
        self._indices = _grown(self._indices[:total][entries], 64)
        self._values = _grown(self._values[:total][entries], 64)
        self._counts = _grown(self._counts[:n][alive], 8)
        self._positives = _grown(self._positives[:n][alive], 8)
        offsets = np.concatenate([[0], np.cumsum(lengths[alive])]).astype(np.int32)
        self._offsets = _grown(offsets, 9)
        self._rows, self._dead = int(alive.sum()), 0
        self._dense, self._dense_rows = None, 0

    def _mirror(self, rows: Any) -> Floats | None:
        """Update and return the dense copy, or None if the rows are mostly empty."""
        n, d = rows.shape
        bound = DENSE_FROM if self._dense is None else DENSE_UNTIL
        if d > DENSE_COLUMNS or rows.nnz <= bound * n * d:
            self._dense, self._dense_rows = None, 0
            return None
        if self._dense is None:
            self._dense = np.empty((max(8, n), d))
        self._dense = _grown(self._dense, n)
        for slot in range(self._dense_rows, n):
            entries = slice(self._offsets[slot], self._offsets[slot + 1])
            self._dense[slot] = 0.0
            self._dense[slot, self._indices[entries]] = self._values[entries]
        self._dense_rows = n
        return self._dense[:n]


def _binary(label: int) -> int:
    if np.ndim(label) or label not in (0, 1):
        raise InvalidValue("label", "0 or 1")
    return int(label)


def _key(indices: Integers, values: Floats) -> bytes:
    """A 16-byte digest of a canonical row, to look the row up by."""
    digest = blake2b(indices.tobytes(), digest_size=16)
    digest.update(values.tobytes())
    return digest.digest()


def _grown(array: NDArray[Any], length: int) -> NDArray[Any]:
    """The array itself if it is long enough, otherwise a copy of at least twice the length."""
    if len(array) >= length:
        return array
    longer = np.empty((max(length, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
