"""Where a Markov policy goes in a model, and the features that it sees on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from app.errors import InvalidValue
from app.learning.arrays import Floats
from app.learning.features.base import Blocks, FeatureMap, OneHot, Table
from app.planning.problem import TransitionModel


@dataclass(frozen=True)
class Occupancy:
    """The probability of every (step, state, action), and of having ended in a state by then."""

    cells: Floats  # (H, S, A)
    ended: Floats  # (H, S + 1): ended before step h, column S where nobody said in which state


def occupancy(model: TransitionModel, start: Floats, actions: NDArray[Any]) -> Occupancy:
    """Of the policy with the action table ``actions`` (H, S)."""
    H, S = actions.shape
    cells, ended = np.zeros((H, S, model.actions)), np.zeros((H, S + 1))
    shape = (S * model.actions, 2 * S + 1)
    table = sparse.csr_array((model.probabilities, model.columns, model.indptr), shape=shape)
    unseen, here, mass = ~model.seen, np.arange(S), start
    for h in range(H):
        cells[h, here, actions[h]] = mass
        if h < H - 1:
            flow = cells[h].ravel()
            after = flow @ table
            mass = after[:S] + flow[unseen].sum() / S
            ended[h + 1] = ended[h] + after[S:]
    return Occupancy(cells, ended)


def mean_features(features: FeatureMap, where: Occupancy) -> Floats:
    """E[phi(tau)], unscaled, shape (d,)."""
    if isinstance(features, Blocks):
        return np.concatenate([mean_features(part, where) for part in features.parts])
    if isinstance(features, Table):
        cells = where.cells if features.values.ndim == 4 else where.cells.sum(axis=0)
        return np.asarray(np.tensordot(cells, features.values, axes=cells.ndim))
    if isinstance(features, OneHot):
        return _mean_counts(features, where)
    raise InvalidValue("features", "a one-hot map, a table or several of them")


def _mean_counts(features: OneHot, where: Occupancy) -> Floats:
    steps, S = list(features.steps), features.spaces.states
    cells = where.cells[steps]  # (K, S, A)
    if not features.action:
        ended = where.ended[steps]
        cells = cells.sum(axis=2, keepdims=True)
        if features.state:
            cells = cells + ended[:, :S, None]
        else:
            cells = cells.sum(axis=1, keepdims=True) + ended.sum(axis=1)[:, None, None]
    elif not features.state:
        cells = cells.sum(axis=1, keepdims=True)
    if not features.step:
        cells = cells.sum(axis=0, keepdims=True)
    return np.asarray(cells).ravel()
