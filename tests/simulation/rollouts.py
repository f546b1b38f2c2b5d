"""Many episodes of a policy that looks at the step and the state only, for tests of the tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from app.errors import InvalidValue
from app.learning.arrays import Floats, Integers
from app.simulation.tables import Tables, pick, random_unit, tables
from app.simulation.tasks.base import Task

NOT_ENDED = -1
NO_ACTION = -1


@dataclass(frozen=True)
class Trajectories:
    """n episodes of at most H steps.

    Row i took ``lengths[i]`` actions. ``states[i, h]`` is the state it acted in at step h and,
    after the end, the state it ended in; ``actions[i, h]`` is -1 after the end. ``ended_in[i]``
    is the state it ended in, or -1 if the horizon came first. The last action may end an
    episode too: then its length is H and ``ended_in`` still says where.
    """

    states: Integers  # (n, H)
    actions: Integers  # (n, H)
    lengths: Integers  # (n,)
    ended_in: Integers  # (n,)

    def __len__(self) -> int:
        return len(self.lengths)


def judged(task: Task, episodes: Trajectories) -> Floats:
    """The probability of a good label of each episode, by the task's judge, shape (n,)."""
    judge = task.judge
    memory = np.full(len(episodes), judge.first)
    for step in range(episodes.states.shape[1]):
        acting = np.flatnonzero(step < episodes.lengths)
        state, action = episodes.states[acting, step], episodes.actions[acting, step]
        memory[acting] = judge.update[memory[acting], state, action]
    ended = episodes.ended_in != NOT_ENDED
    # Index 0 stands in for "not ended"; np.where discards what it reads there.
    where = np.where(ended, episodes.ended_in, 0)
    return np.where(ended, judge.ended[memory, where], judge.alive[memory])


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
