"""The compiled loops of the peers: play an episode from a table, and learn from its label.

A table is (R, S, A): R = 1 looks at the state alone, R = H at the state and the step.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from app.simulation.tables import Tables, pick, random_unit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@njit(cache=True)
def row_of(step: int, table: Floats) -> int:
    """Which row of a table a step reads."""
    return step if table.shape[0] > 1 else 0


@njit(cache=True)
def greedy(values: Floats, epsilon: float, unit: float) -> int:
    """Epsilon-greedy, ties broken at random, from one random number."""
    if unit < epsilon:
        return int(unit / epsilon * len(values))
    best = values.max()
    left = int((unit - epsilon) / (1.0 - epsilon) * np.sum(values == best))
    for action in range(len(values)):
        if values[action] == best:
            if left == 0:
                return action
            left -= 1
    return len(values) - 1


@njit(cache=True)
def softmax(logits: Floats) -> Floats:
    """Probabilities proportional to exp(logits)."""
    weights: Floats = np.exp(logits - logits.max())
    weights /= weights.sum()
    return weights


@njit(cache=True)
def sample(probabilities: Floats, unit: float) -> int:
    """An action drawn with the given probabilities."""
    return int(pick(np.cumsum(probabilities), 0, len(probabilities), unit))


@njit(cache=True)
def play(
    world: Tables,
    table: Floats,
    epsilon: float,
    seed: int,
    episode: int,
    states: Integers,
    actions: Integers,
) -> tuple[int, float]:
    """Play one episode into ``states`` and ``actions``; its length and P(good | episode).

    A negative ``epsilon`` asks for softmax of the table instead of epsilon-greedy.
    """
    S, A = table.shape[1:]
    state = pick(world.start, 0, S, random_unit(seed, episode, 2 * world.horizon))
    judged = world.first
    for step in range(world.horizon):
        unit = random_unit(seed, episode, 2 * step + 1)
        values = table[row_of(step, table), state]
        action = sample(softmax(values), unit) if epsilon < 0.0 else greedy(values, epsilon, unit)
        states[step], actions[step] = state, action
        judged = world.update[judged, state, action]
        unit = random_unit(seed, episode, 2 * step)
        row = state * A + action
        column = world.columns[
            pick(world.cumulative, world.indptr[row], world.indptr[row + 1], unit)
        ]
        if column >= S:
            return step + 1, world.ended[judged, column - S]
        state = column
    return world.horizon, world.alive[judged]


@njit(cache=True)
def learn_q(
    table: Floats,
    visits: Integers,
    states: Integers,
    actions: Integers,
    label: float,
    rate: float,
    power: float,
    discount: float,
) -> None:
    """Q-learning from the last step to the first, so that one label reaches the whole episode.

    The step size is max(rate, n^-power), n the visits of the entry.
    """
    target = label
    for step in range(len(states) - 1, -1, -1):
        row, state, action = row_of(step, table), states[step], actions[step]
        visits[row, state, action] += 1
        size = max(rate, float(visits[row, state, action]) ** -power)
        table[row, state, action] += size * (target - table[row, state, action])
        target = discount * table[row, state].max()


@njit(cache=True)
def learn_returns(
    table: Floats,
    visits: Integers,
    states: Integers,
    actions: Integers,
    label: float,
    rate: float,
    power: float,
    discount: float,
) -> None:
    """Every-visit Monte-Carlo: every pair of the episode moves towards its discounted label."""
    target = label
    for step in range(len(states) - 1, -1, -1):
        row, state, action = row_of(step, table), states[step], actions[step]
        visits[row, state, action] += 1
        size = max(rate, float(visits[row, state, action]) ** -power)
        table[row, state, action] += size * (target - table[row, state, action])
        target *= discount


@njit(cache=True)
def learn_gradient(
    table: Floats,
    baseline: Floats,
    states: Integers,
    actions: Integers,
    label: float,
    rate: float,
    baseline_rate: float,
) -> None:
    """REINFORCE on softmax logits with a learned baseline (R, S) of the label in each state."""
    probabilities = np.empty((len(states), table.shape[2]))
    for step in range(len(states)):  # of the policy that played, before anything moves
        probabilities[step] = softmax(table[row_of(step, table), states[step]])
    for step in range(len(states)):
        row, state = row_of(step, table), states[step]
        advantage = label - baseline[row, state]
        baseline[row, state] += baseline_rate * advantage
        table[row, state] -= rate * advantage * probabilities[step]
        table[row, state, actions[step]] += rate * advantage
