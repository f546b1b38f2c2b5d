"""The occupancy of a Markov policy: how likely it visits each step, state and action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.learning.arrays import Floats
from app.learning.world.model import TransitionModel


@dataclass(frozen=True)
class Occupancy:
    """The probability of every (step, state, action), and of having ended in a state before it."""

    cells: Floats  # (H, S, A)
    ended: Floats  # (H, S + 1): ended before step h, column S where the state was not reported


def occupancy(model: TransitionModel, start: Floats, actions: NDArray[Any]) -> Occupancy:
    """The occupancy of the policy that plays the table ``actions`` (H, S)."""
    H, S = actions.shape
    cells, ended = np.zeros((H, S, model.actions)), np.zeros((H, S + 1))
    table, unseen, here, mass = model.sparse(), ~model.seen, np.arange(S), start
    for h in range(H):
        cells[h, here, actions[h]] = mass
        if h < H - 1:
            flow = cells[h].ravel()
            after = flow @ table
            mass = after[:S] + flow[unseen].sum() / S
            ended[h + 1] = ended[h] + after[S:]
    return Occupancy(cells, ended)
