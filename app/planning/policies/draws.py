"""Drawing an action when all possible ones are equally likely."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.learning.arrays import Arrays, Booleans


def possible_actions(actions: int, allowed: Booleans | None, state: object) -> Sequence[int]:
    """The possible actions of a state; ``allowed`` (S, A) has one row for observed numbers."""
    if allowed is None:
        return range(actions)
    row = allowed[state] if isinstance(state, int) else allowed[0]
    return [int(action) for action in np.flatnonzero(row)]


def draw(uniform: float, actions: int, allowed: Booleans | None, state: object) -> int:
    """The possible action that ``uniform`` falls on."""
    if allowed is None:
        return int(uniform * actions)
    possible = possible_actions(actions, allowed, state)
    return possible[int(uniform * len(possible))]


def allowed_array(allowed: Booleans | None) -> Arrays:
    """``allowed`` as a named array of 0 and 1, for storage; none where every action is possible."""
    return {} if allowed is None else {"allowed": allowed.astype(np.uint8)}


def allowed_of(arrays: Arrays) -> Booleans | None:
    """What `allowed_array` stored."""
    return arrays["allowed"].astype(np.bool_) if "allowed" in arrays else None
