"""Small worlds for exploration: their true models, played and enumerated."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from app.learning.features.table import Table
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.transitions import TransitionCounts


@dataclass(frozen=True)
class World:
    """P(s' | s, a) without ends, and the distribution of the first state."""

    start: np.ndarray  # (S,)
    moves: np.ndarray  # (S, A, S)
    horizon: int

    @property
    def spaces(self):
        S, A, _ = self.moves.shape
        return Spaces(S, A, self.horizon)

    def play(self, choose, rng):
        """One episode; ``choose`` gives the action of a step and state."""
        states, actions = [], []
        state = int(rng.choice(len(self.start), p=self.start))
        for step in range(self.horizon):
            states.append(state)
            actions.append(int(choose(step, state)))
            state = int(rng.choice(len(self.start), p=self.moves[state, actions[-1]]))
        return Trajectory(np.array(states), np.array(actions), state)

    def paths(self, table):
        """Every (probability, trajectory) of an action table (H, S), by enumeration."""
        S = len(self.start)
        for states in itertools.product(range(S), repeat=self.horizon):
            actions = [int(table[h][s]) for h, s in enumerate(states)]
            chance = self.start[states[0]]
            for h in range(self.horizon - 1):
                chance *= self.moves[states[h], actions[h], states[h + 1]]
            if chance > 0.0:
                yield chance, Trajectory(np.array(states), np.array(actions))

    def best(self, rewards):
        """V*_h(s) for rewards (H, S, A), shape (H, S), by dynamic programming."""
        values = np.zeros((self.horizon + 1, len(self.start)))
        for h in range(self.horizon - 1, -1, -1):
            values[h] = (rewards[h] + self.moves @ values[h + 1]).max(axis=1)
        return values[:-1]

    def value(self, rewards, table):
        """What an action table is worth from the start."""
        value = np.zeros(len(self.start))
        here = np.arange(len(self.start))
        for h in range(self.horizon - 1, -1, -1):
            action = table[h]
            onward = self.moves[here, action] @ value if h < self.horizon - 1 else 0.0
            value = rewards[h, here, action] + onward
        return float(self.start @ value)


def random_world(seed, states=3, actions=2, horizon=4):
    """Transitions and start drawn from Dirichlet distributions, some of them nearly certain."""
    rng = np.random.default_rng([91, seed])
    concentration = float(rng.choice([0.2, 1.0]))
    moves = rng.dirichlet(np.full(states, concentration), size=(states, actions))
    return World(rng.dirichlet(np.ones(states)), moves, horizon)


def counted(world, episodes, rng):
    """The counts of uniformly random episodes."""
    counts = TransitionCounts(world.spaces)
    for _ in range(episodes):
        counts.add(world.play(lambda *_: rng.integers(world.spaces.actions), rng))
    return counts


def explorable(states=2, pairs=2, horizon=2, seed=0):
    """A world and an orthogonal map in which every direction can be reached, and its omega.

    Step h has ``pairs`` features of its own. In every state each of them can be had with either
    sign, by an action that depends on the state. The best policy for v is worth
    sum_h max_j |v_hj| / sqrt(H) in the scale of the service, which is least, 1 / sqrt(H pairs), for
    a v that is spread over the features of one step.
    """
    rng = np.random.default_rng([17, seed])
    actions = 2 * pairs
    moves = rng.dirichlet(np.ones(states), size=(states, actions))
    world = World(rng.dirichlet(np.ones(states)), moves, horizon)
    values = np.zeros((horizon, states, actions, horizon * pairs))
    for h in range(horizon):
        for s in range(states):
            for a, kind in enumerate(rng.permutation(actions)):
                values[h, s, a, h * pairs + kind // 2] = 1.0 if kind % 2 else -1.0
    return world, Table(world.spaces, values), 1.0 / np.sqrt(horizon * pairs)


def far(horizon=3, chance=0.8):
    """A world that must be crossed: the feature of step h is had in state h alone, +1 or -1.

    Two actions try to go on, and succeed with probability ``chance``; two stay. The best policy for
    v is worth sum_h |v_h| chance^h / sqrt(H), which is least for the last step's feature.
    """
    moves = np.zeros((horizon, 4, horizon))
    values = np.zeros((horizon, horizon, 4, horizon))
    for s in range(horizon):
        moves[s, :2, min(s + 1, horizon - 1)] += chance
        moves[s, :2, s] += 1.0 - chance
        moves[s, 2:, s] = 1.0
        values[s, s, :, s] = [1.0, -1.0, 1.0, -1.0]
    world = World(np.eye(horizon)[0], moves, horizon)
    return world, Table(world.spaces, values), chance ** (horizon - 1) / np.sqrt(horizon)
