"""A model of the transitions: P(what follows | state, action), as compressed sparse rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from app.errors import InvalidValue
from app.learning.arrays import Floats, Integers

PROBABILITY_TOLERANCE = 1e-9


@dataclass(frozen=True)
class TransitionModel:
    """Transition probabilities as compressed rows, one row per (state, action).

    Row ``s * A + a`` lists columns ``columns[indptr[row]:indptr[row+1]]`` with their
    ``probabilities``. Column ``j < S`` is the state j; column ``S + e`` with ``e < S`` is "ended in
    state e", and column ``2 S`` is "ended in a state that was not reported". A row without entries
    has never been seen and stands for the uniform distribution over the S states, so that an unseen
    row needs no memory.
    """

    states: int
    actions: int
    indptr: Integers  # (S*A + 1,)
    columns: Integers  # (nnz,)
    probabilities: Floats  # (nnz,)

    def __post_init__(self) -> None:
        # One memory layout and dtype, so that kernels are compiled once.
        for field, kind in (("indptr", np.int64), ("columns", np.int64), ("probabilities", float)):
            object.__setattr__(self, field, np.ascontiguousarray(getattr(self, field), dtype=kind))
        rows = self.states * self.actions
        if self.states < 1 or self.actions < 1:
            raise InvalidValue("states, actions", "at least one of each")
        if self.indptr.shape != (rows + 1,) or self.indptr[-1] != len(self.columns):
            raise InvalidValue("transitions.indptr", f"{rows + 1} offsets that cover the columns")
        if (
            len(self.columns)
            and not 0 <= self.columns.min() <= self.columns.max() <= 2 * self.states
        ):
            raise InvalidValue("transitions.columns", f"indices from 0 to {2 * self.states}")
        sums = np.add.reduceat(np.append(self.probabilities, 0.0), self.indptr[:-1])
        seen = np.diff(self.indptr) > 0
        proper = np.isfinite(self.probabilities).all() and (self.probabilities >= 0).all()
        if not proper or (np.abs(sums[seen] - 1.0) > PROBABILITY_TOLERANCE).any():
            raise InvalidValue("transitions.probabilities", "non-negative rows that sum to one")

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether row (s, a) has been seen, shape (S*A,)."""
        return np.diff(self.indptr) > 0

    def sparse(self) -> csr_array:
        """The seen rows as a sparse matrix, shape (S*A, 2*S + 1); an unseen row is empty."""
        shape = (self.states * self.actions, 2 * self.states + 1)
        return csr_array((self.probabilities, self.columns, self.indptr), shape=shape)

    def dense(self) -> Floats:
        """The full matrix, shape (S*A, 2*S + 1); for tests, small problems and dense planning."""
        matrix = np.zeros((self.states * self.actions, 2 * self.states + 1))
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        np.add.at(matrix, (rows, self.columns), self.probabilities)
        matrix[~self.seen, : self.states] = 1.0 / self.states
        return matrix

    def with_rows(self, rows: Integers) -> TransitionModel:
        """A model of the same size whose row i is row ``rows[i]`` of this one."""
        lengths = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
        entries = np.repeat(self.indptr[rows], lengths) + within
        columns, chances = self.columns[entries], self.probabilities[entries]
        return TransitionModel(self.states, self.actions, indptr, columns, chances)

    @classmethod
    def from_dense(cls, matrix: Floats, states: int, actions: int) -> TransitionModel:
        """Compress a matrix of shape (S*A, 2*S + 1) or, without ended columns, (S*A, S)."""
        rows, columns = np.nonzero(matrix)
        indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(matrix, axis=1))])
        return cls(states, actions, indptr.astype(np.int64), columns, matrix[rows, columns])


class Successors:
    """The possible successors of each (state, action), for planners that enumerate.

    Each column occurs once, and none has probability zero.
    """

    def __init__(self, transitions: TransitionModel) -> None:
        self._states = transitions.states
        table = transitions.sparse().copy()
        table.sum_duplicates()
        table.eliminate_zeros()
        self._columns, self._probabilities = table.indices, table.data
        self._first = np.where(transitions.seen, table.indptr[:-1], 0)
        self._counts = np.where(transitions.seen, np.diff(table.indptr), self._states)
        self._seen = transitions.seen

    def counts(self, rows: Integers) -> Integers:
        """How many columns follow each row ``s * A + a``."""
        counts: Integers = self._counts[rows]
        return counts

    def follow(self, rows: Integers) -> tuple[Integers, Integers, Floats]:
        """Every (position in ``rows``, column, probability), ordered by position and column."""
        counts = self._counts[rows]
        places = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        columns, chances = within.copy(), np.full(len(places), 1.0 / self._states)
        known = self._seen[rows][places]
        entries = (self._first[rows][places] + within)[known]
        columns[known], chances[known] = self._columns[entries], self._probabilities[entries]
        return places, columns, chances
