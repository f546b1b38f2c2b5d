"""The rows of a transition model, expanded many at a time; for planners that enumerate."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from app.learning.arrays import Floats, Integers
from app.planning.problem import TransitionModel


class Successors:
    """What can follow a (state, action): each column once and none of probability zero."""

    def __init__(self, transitions: TransitionModel) -> None:
        self._states = transitions.states
        shape = (transitions.states * transitions.actions, 2 * transitions.states + 1)
        entries = (transitions.probabilities, transitions.columns, transitions.indptr)
        table = csr_array(entries, shape=shape, copy=True)
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
        """Every (place in ``rows``, column, probability), ordered by place and column."""
        counts = self._counts[rows]
        places = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        columns, chances = within.copy(), np.full(len(places), 1.0 / self._states)
        known = self._seen[rows][places]
        entries = (self._first[rows][places] + within)[known]
        columns[known], chances[known] = self._columns[entries], self._probabilities[entries]
        return places, columns, chances
