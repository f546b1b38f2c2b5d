"""Worlds whose every direction of features can be reached, and an agent in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.agents import AgentSpec, make_agent
from app.agents.kinds.ucbvi_explore.agent import UcbviExplore
from app.learning.arrays import Floats
from app.learning.trajectory import Trajectory
from app.wire.validation import parse

Choose = Callable[[int, int], int]  # the action of a step and state


@dataclass(frozen=True)
class World:
    """An environment without ends, with features of the steps' vectors."""

    start: Floats  # (S,)
    moves: Floats  # (S, A, S)
    values: Floats  # (H, S, A, d)

    def play(self, choose: Choose, rng: np.random.Generator) -> Trajectory:
        """One episode."""
        states, actions = [], []
        state = int(rng.choice(len(self.start), p=self.start))
        for step in range(len(self.values)):
            states.append(state)
            actions.append(choose(step, state))
            state = int(rng.choice(len(self.start), p=self.moves[state, actions[-1]]))
        return Trajectory(np.array(states), np.array(actions), state)

    def row(self, trajectory: Trajectory) -> Floats:
        """phi(tau), unscaled."""
        steps = np.arange(len(trajectory))
        row: Floats = self.values[steps, trajectory.states, trajectory.actions].sum(axis=0)
        return row

    def second_moment(self, table: Any) -> Floats:
        """E[phi phi^T] of an action table (H, S).

        Forward over the steps: the probability of each state, and E[phi so far; in that state].
        """
        S, d = len(self.start), self.values.shape[-1]
        mass, first, second = self.start, np.zeros((S, d)), np.zeros((d, d))
        rows = np.arange(S)
        for h, values in enumerate(self.values):
            vectors = values[rows, table[h]]  # (S, d)
            cross = first.T @ vectors
            second += cross + cross.T + (vectors * mass[:, None]).T @ vectors
            onward = self.moves[rows, table[h]]  # (S, S)
            first = onward.T @ (first + mass[:, None] * vectors)
            mass = onward.T @ mass
        return second


def signed_world(states: int, pairs: int, horizon: int, seed: int) -> tuple[World, float]:
    """A world and its omega: every step has ``pairs`` features, each to be had with either sign.

    Every trajectory has norm sqrt(H). Scaled to norm 1 the best policy for v is worth
    sum_h max_j |v_hj| / sqrt(H), at least 1 / sqrt(H pairs).
    """
    rng = np.random.default_rng([29, seed])
    actions = 2 * pairs
    moves = rng.dirichlet(np.full(states, 0.5), size=(states, actions))
    values = np.zeros((horizon, states, actions, horizon * pairs))
    for h in range(horizon):
        for s in range(states):
            for a, kind in enumerate(rng.permutation(actions)):
                values[h, s, a, h * pairs + kind // 2] = 1.0 if kind % 2 else -1.0
    start = rng.dirichlet(np.ones(states))
    return World(start, moves, values), 1.0 / float(np.sqrt(horizon * pairs))


class Life:
    """An agent in a world, whose labels are logistic in phi(tau)."""

    def __init__(self, world: World, seed: int, **options: Any) -> None:
        H, S, A, d = world.values.shape
        spec = {
            "states": S, "actions": A, "horizon": H, "seed": seed,
            "algorithm": {"kind": "ucbvi_explore", **options},
            "features": {"kind": "table", "values": world.values.tolist()},
        }  # fmt: skip
        agent = make_agent(parse(AgentSpec, spec))
        assert isinstance(agent, UcbviExplore)
        self.world, self.agent, self.episodes = world, agent, 0
        self.weights = np.random.default_rng([37, seed]).normal(size=d)

    def live(self) -> Trajectory:
        """One more episode, labelled where the agent asks for it."""
        agent, number = self.agent, self.episodes
        rng = np.random.default_rng([31, agent.spec.seed, number])
        plan = agent.plan(number, certify=False)
        memory: tuple[int, ...] = ()

        def choose(step: int, state: int) -> int:
            nonlocal memory
            action, memory = plan.policy.act(step, state, memory, float(rng.random()))
            return action

        trajectory = self.world.play(choose, rng)
        agent.finish(number, trajectory)
        if plan.label_required:
            logit = float(self.world.row(trajectory) @ self.weights)
            agent.label(number, int(rng.random() < 1.0 / (1.0 + np.exp(-logit))))
        self.episodes += 1
        return trajectory
