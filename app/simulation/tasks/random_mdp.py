"""Random MDPs: 10 states, 3 actions, 10 steps, one for every seed.

Rows of the model and the start are Dirichlet draws. The label is good with probability
mu(sum_h w(s_h, a_h)), w Gaussian and rounded to multiples of ``UNIT``: rounded weights add up to
finitely many sums, so that the optimum is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from app.simulation.tasks.base import Task
from app.simulation.tasks.judge import Judge

STATES, ACTIONS, HORIZON = 10, 3, 10
CONCENTRATION = 0.3  # a few likely successors for each (state, action): actions matter
SPREAD = 0.25  # standard deviation of the weights
UNIT = 0.01


def random_mdp(
    seed: int, states: int = STATES, actions: int = ACTIONS, horizon: int = HORIZON
) -> Task:
    """The random MDP of a seed."""
    rng = np.random.default_rng(seed)
    transitions = np.zeros((states, actions, 2 * states + 1))
    concentration = np.full(states, CONCENTRATION)
    transitions[:, :, :states] = rng.dirichlet(concentration, size=(states, actions))
    start = rng.dirichlet(np.ones(states))
    weights = rng.normal(scale=SPREAD, size=(states, actions))
    # Centred, so that success is neither common nor rare under every policy.
    steps = np.rint((weights - weights.mean()) / UNIT).astype(np.int64)
    lowest = int(steps.min())
    return Task(
        name=f"random-{seed}",
        horizon=horizon,
        start=start,
        transitions=transitions,
        judge=Judge.of_points(steps - lowest, horizon, UNIT, UNIT * lowest * horizon),
        features={"kind": "one_hot", "over": ["state", "action"], "steps": "all"},
    )


TASKS: dict[str, Callable[[], Task]] = {f"random-{n}": partial(random_mdp, n) for n in range(6)}
