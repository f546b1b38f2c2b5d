"""Rollouts of policies in a learned model: the visits that running episodes will make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.learning.arrays import Floats
from app.learning.randomness import uniform
from app.learning.spaces import Spaces
from app.learning.world.model import TransitionModel
from app.learning.world.policy import Policy


def expected_visits(
    model: TransitionModel, start: Floats, policies: Sequence[Policy], spaces: Spaces, seed: int
) -> Floats:
    """The visits of (state, action) in one simulated episode of each policy, shape (S, A)."""
    visits = np.zeros((spaces.states, spaces.actions))
    cumulative = np.cumsum(model.probabilities)
    first = np.cumsum(start)
    for number, policy in enumerate(policies):
        luck = [uniform(seed, number, i) for i in range(2 * spaces.horizon + 1)]
        state = min(int(np.searchsorted(first, luck[-1], side="right")), spaces.states - 1)
        memory: tuple[int, ...] = ()
        for step in range(spaces.horizon):
            action, memory = policy.act(step, state, memory, luck[2 * step])
            visits[state, action] += 1.0
            state = follow(model, cumulative, state, action, luck[2 * step + 1])
            if state >= spaces.states:
                break
    return visits


def follow(model: TransitionModel, cumulative: Floats, state: int, action: int, luck: float) -> int:
    """Draw the next column from one number in [0, 1); an unseen row leads to any state.

    ``cumulative`` holds the cumulative sums of the model's probabilities.
    """
    row = state * model.actions + action
    begin, end = int(model.indptr[row]), int(model.indptr[row + 1])
    if begin == end:
        return int(luck * model.states)
    before = float(cumulative[begin - 1]) if begin else 0.0
    place = int(np.searchsorted(cumulative[begin:end], before + luck, side="right"))
    return int(model.columns[begin + min(place, end - begin - 1)])
