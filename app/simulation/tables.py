"""The tables of a task as arrays for compiled loops, with their random numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from app.learning.arrays import Floats, Integers
from app.simulation.tasks.base import Task


class Tables(NamedTuple):
    """The true model as compressed rows of cumulative probabilities, and the judge's automaton.

    Row ``s * A + a`` is ``columns[indptr[row]:indptr[row + 1]]``, with columns as in ``Task``.
    """

    horizon: int
    start: Floats  # (S,): cumulative
    indptr: Integers  # (S*A + 1,)
    columns: Integers
    cumulative: Floats
    update: Integers  # (M, S, A)
    alive: Floats  # (M,)
    ended: Floats  # (M, S)
    first: int


@lru_cache(maxsize=64)
def tables(task: Task) -> Tables:
    """The tables of a task, built once and cached."""
    matrix = task.transitions.reshape(task.states * task.actions, -1)
    rows, columns = np.nonzero(matrix)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(matrix, axis=1))])
    judge = task.judge
    return Tables(
        horizon=task.horizon,
        start=_closed(np.cumsum(task.start), np.array([task.states])),
        indptr=indptr.astype(np.int64),
        columns=columns.astype(np.int64),
        cumulative=_closed(np.cumsum(matrix, axis=1)[rows, columns], indptr[1:]),
        update=np.ascontiguousarray(judge.update, dtype=np.int64),
        alive=judge.alive,
        ended=judge.ended,
        first=judge.first,
    )


def _closed(cumulative: Floats, ends: Integers) -> Floats:
    """Set the end of every row to exactly one, so that rounding never draws past its last entry."""
    cumulative[ends - 1] = 1.0
    return cumulative


@njit(cache=True)
def _mix(value: np.uint64) -> np.uint64:
    bits = value + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@njit(cache=True)
def random_unit(seed: int, episode: int, draw: int) -> float:
    """The number in [0, 1) of an address: ``randomness.uniform``, compiled.

    With addressed numbers every policy meets the same random numbers, so that comparing two
    policies has far less noise, and no array of random numbers is drawn first.
    """
    bits = _mix(_mix(_mix(np.uint64(seed)) ^ np.uint64(episode)) ^ np.uint64(draw))
    return float(bits >> np.uint64(11)) * 2.0**-53


@njit(cache=True)
def pick(cumulative: Floats, low: int, high: int, unit: float) -> int:
    """The first index in [low, high) whose cumulative probability exceeds ``unit``."""
    index = low
    while index < high - 1 and cumulative[index] <= unit:
        index += 1
    return index
