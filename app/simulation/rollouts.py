"""Compiled rollouts of a policy that looks at the step and the state only."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from app.errors import InvalidValue
from app.learning.arrays import Floats
from app.simulation.tables import Tables, pick, random_unit, tables
from app.simulation.tasks.base import Task
from app.simulation.trajectories import NO_ACTION, NOT_ENDED, Trajectories


def rollouts(task: Task, policy: Floats, n: int, seed: int) -> Trajectories:
    """Play ``n`` episodes of a policy given as P(action | step, state), shape (H, S, A)."""
    shape = (task.horizon, task.states, task.actions)
    if policy.shape != shape:
        raise InvalidValue("policy", f"shape {shape}, got {policy.shape}")
    played = Trajectories(
        states=np.zeros((n, task.horizon), dtype=np.int64),
        actions=np.full((n, task.horizon), NO_ACTION),
        lengths=np.zeros(n, dtype=np.int64),
        ended_in=np.full(n, NOT_ENDED),
    )
    arrays = (played.states, played.actions, played.lengths, played.ended_in)
    _play(tables(task), np.cumsum(policy, axis=2), seed, *arrays)
    return played


@njit(cache=True)
def _play(
    world: Tables,
    policy: Floats,
    seed: int,
    states: NDArray[np.int64],
    actions: NDArray[np.int64],
    lengths: NDArray[np.int64],
    ended_in: NDArray[np.int64],
) -> None:
    S, A = policy.shape[1:]
    for episode in range(len(lengths)):
        state = pick(world.start, 0, S, random_unit(seed, episode, 2 * world.horizon))
        for step in range(world.horizon):
            states[episode, step] = state
            unit = random_unit(seed, episode, 2 * step + 1)
            action = pick(policy[step, state], 0, A, unit)
            actions[episode, step] = action
            lengths[episode] = step + 1
            row = state * A + action
            unit = random_unit(seed, episode, 2 * step)
            entry = pick(world.cumulative, world.indptr[row], world.indptr[row + 1], unit)
            state = world.columns[entry]
            if state >= S:
                state -= S
                ended_in[episode] = state
                states[episode, step + 1 :] = state
                break
