"""Compiled rollouts of grid policies: thousands of episodes in milliseconds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from app.learning.arrays import Floats, Integers
from app.planning.policies.grid import GridPolicy
from app.planning.policies.tracked import TrackedPolicy
from app.planning.rows import shift
from app.simulation.tables import Tables, pick, random_unit, tables
from app.simulation.tasks.base import Task


class _Controller(NamedTuple):
    """A ``GridPolicy`` on P tracked states as plain arrays; without a tracker P = S and M = 1."""

    entered: Integers  # (M, S)
    memories: Integers  # (P, A)
    delta: float
    lowest: int
    highest: int
    low: NDArray[np.int32]  # (H, P)
    high: NDArray[np.int32]  # (H, P)
    offsets: Integers  # (H, P)
    actions: NDArray[np.uint8] | NDArray[np.uint16]
    weights: Floats  # (H, P, A)


def grid_value(
    task: Task, policy: GridPolicy, n: int, seed: int, tracked: TrackedPolicy | None = None
) -> float:
    """The mean success probability of ``n`` episodes, with the random numbers of ``rollouts``.

    ``tracked`` is the policy that wraps ``policy``, if it acts on tracked states.
    """
    return float(_mean_success(tables(task), _controller(policy, tracked), n, seed))


def _controller(policy: GridPolicy, tracked: TrackedPolicy | None) -> _Controller:
    if tracked is not None:
        entered, memories = tracked.entered, tracked.memories
    else:
        entered = np.arange(policy.low.shape[1], dtype=np.int32)[None]
        memories = np.zeros(policy.weights.shape[1:], dtype=np.int32)
    return _Controller(
        np.ascontiguousarray(entered, dtype=np.int64),
        np.ascontiguousarray(memories, dtype=np.int64),
        float(policy.delta),
        *policy.clip,
        np.ascontiguousarray(policy.low),
        np.ascontiguousarray(policy.high),
        np.ascontiguousarray(policy.offsets),
        policy.actions,
        np.ascontiguousarray(policy.weights),
    )


@njit(cache=True)
def _mean_success(world: Tables, controller: _Controller, n: int, seed: int) -> float:
    total = 0.0
    for episode in range(n):
        total += _success(world, controller, episode, seed)
    return total / n


@njit(cache=True)
def _success(world: Tables, controller: _Controller, episode: int, seed: int) -> float:
    """The success probability of one episode: ``GridPolicy.act`` and the judge, compiled."""
    S, A = controller.entered.shape[1], controller.weights.shape[2]
    state = pick(world.start, 0, S, random_unit(seed, episode, 2 * world.horizon))
    judged, index, memory = world.first, 0, 0
    for step in range(world.horizon):
        tracked = controller.entered[memory, state]
        low = controller.low[step, tracked]
        within = min(max(index, low), controller.high[step, tracked])
        action = int(controller.actions[controller.offsets[step, tracked] + within - low])
        whole, theta = shift(controller.weights[step, tracked, action], controller.delta)
        index += whole + (random_unit(seed, episode, 2 * step + 1) < theta)
        index = min(max(index, controller.lowest), controller.highest)
        judged = world.update[judged, state, action]
        memory = controller.memories[tracked, action]
        row = state * A + action
        unit = random_unit(seed, episode, 2 * step)
        column = world.columns[
            pick(world.cumulative, world.indptr[row], world.indptr[row + 1], unit)
        ]
        if column >= S:
            return float(world.ended[judged, column - S])
        state = column
    return float(world.alive[judged])
