"""phi(tau) of many trajectories at once, for planners that enumerate them.

Episodes come as the exact planner has them: ``states`` and ``actions`` of shape (n, k), and
``ended`` (n,): the state an episode ended in after its k actions, S when nobody said where, or -1
when it went on to the horizon. The rows are those that each map's ``row`` gives, shape (n, d).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from app.learning.arrays import Floats, Integers
from app.learning.features.base import ROUNDING, Blocks, OneHot, Table
from app.learning.features.events import AnyFeatures, Events


def trajectory_rows(
    features: AnyFeatures, states: Integers, actions: Integers, ended: Integers
) -> sparse.csr_array:
    """The features of each episode, as sparse rows."""
    if isinstance(features, OneHot):
        return _one_hot(features, states, actions, ended)
    if isinstance(features, Table):
        return _table(features, states, actions)
    if isinstance(features, Events):
        return sparse.csr_array(features.happened(states, ended).astype(np.float64))
    if isinstance(features, Blocks):
        parts = [trajectory_rows(part, states, actions, ended) for part in features.parts]
        return sparse.csr_array(sparse.hstack(parts, format="csr"))
    raise TypeError(f"no rows for {type(features).__name__}")


def _one_hot(
    features: OneHot, states: Integers, actions: Integers, ended: Integers
) -> sparse.csr_array:
    n, k = states.shape
    S, A = features.spaces.states, features.spaces.actions
    weights = np.zeros((n, len(features.steps)))
    index = np.zeros((n, len(features.steps)), dtype=np.int64)
    played = np.array([h for h in features.steps if h < k], dtype=np.int64)
    weights[:, : len(played)] = 1.0
    at = np.zeros_like(index)
    at[:, : len(played)] = states[:, played]
    if not features.action:
        located = (ended >= 0) & ((ended < S) if features.state else True)
        weights[:, len(played) :] = located[:, None]
        at[:, len(played) :] = np.where(located & (ended < S), ended, 0)[:, None]
    by_state = S if features.state else 1
    by_action = A if features.action else 1
    if features.step:
        index += np.arange(len(features.steps)) * by_state * by_action
    if features.state:
        index += at * by_action
    if features.action:
        index[:, : len(played)] += actions[:, played]
    return _merged(index, weights, features.dimension)


def _table(features: Table, states: Integers, actions: Integers) -> sparse.csr_array:
    # Nothing counts after the end: the features include the action.
    values = features.values
    total, size = np.zeros((2, len(states), features.dimension))
    for h in range(states.shape[1]):
        taken = values if values.ndim == 3 else values[h]
        step = taken[states[:, h], actions[:, h]]
        total += step
        size += np.abs(step)
    total[np.abs(total) <= ROUNDING * size] = 0.0
    return sparse.csr_array(total)


def _merged(index: Integers, weights: Floats, dimension: int) -> sparse.csr_array:
    """Rows with ``weights`` at the places ``index``, equal places added up."""
    n, width = index.shape
    offsets = np.arange(n + 1) * width
    rows = sparse.csr_array((weights.ravel(), index.ravel(), offsets), shape=(n, dimension))
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows
