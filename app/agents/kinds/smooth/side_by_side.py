"""Episodes that run side by side: the states that they are expected to visit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.learning.arrays import Floats
from app.learning.continuous.world import World
from app.learning.world.policy import Policy
from app.planning.policies.registry import act_in

_MOST = 8  # if more episodes run, the newest represent all


def expected_visits(
    world: World, pending: Sequence[Policy], horizon: int, rng: np.random.Generator
) -> Floats:
    """Simulate the pending policies in the learned dynamics; states in z, shape (n, d)."""
    walks = [_walk(world, policy, horizon, rng) for policy in pending[-_MOST:]]
    return np.concatenate([np.empty((0, world.fine.shape[1])), *walks])


def _walk(world: World, policy: Policy, horizon: int, rng: np.random.Generator) -> Floats:
    """Simulate one episode of a policy on the net; the states after each action, (n, d)."""
    columns, weights = world.moves
    z = world.starts[rng.integers(len(world.starts))]
    memory: tuple[int, ...] = ()
    visited = []
    near, shares = world.locate(z[None])
    centre = int(near[0, int(shares[0].argmax())])
    for step in range(horizon):
        seen = tuple(world.scaling.back(z).tolist())
        action, memory = act_in(policy, step, seen, memory, float(rng.random()))
        visited.append(world.after[centre, action])
        if rng.random() < world.ends[centre, action]:
            break
        luck = np.searchsorted(np.cumsum(weights[centre, action]), rng.random())
        centre = int(columns[centre, action, min(int(luck), columns.shape[2] - 1)])
        z = world.fine[centre]
    return np.array(visited)
