"""Regret against episodes for every kind of agent that counts states, in two small worlds.

Nothing is estimated but the luck of the runs: the optimum is the exact planner's, and the value of
every policy that is played is the sum over all its episodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from app.agents import AgentSpec, make_agent
from app.agents.base import Agent
from app.learning.arrays import Floats
from app.learning.features.table import Table
from app.learning.paper.regret_bounds import RegretSetting
from app.learning.randomness import generator, uniform
from app.learning.spaces import Spaces
from app.learning.world.model import TransitionModel
from app.planning.problem import Plan, PlanningProblem
from app.wire.validation import parse
from benchmarks.exact import plan_exact
from benchmarks.explore_worlds import World, signed_world
from benchmarks.policy_value import policy_value

Record = dict[str, Any]

SLIP = 0.1  # a step of the corridor goes the other way
FAILURE = 0.1  # the theorems' delta-bar, of the runs and of the bounds
_LUCK = 301  # address of the world's generator
COLUMNS = {
    "world": "the environment",
    "name": "the agent kind and its constants",
    "seed": "of the agent and of the world's luck",
    "episode": "counted from 1",
    "label": "1 good, 0 bad; empty where the agent asked for none",
    "value": "the exact probability of a good label under the policy that was played",
    "regret": "the sum of optimum - value up to this episode",
}


@dataclass(frozen=True, eq=False)
class Known:
    """A world, what its labels are made of, and what the theorems need to know of it."""

    world: World
    weights: Floats  # (d,): the logit of a trajectory is their product with its features
    omega: float | None = None  # explorability, where there is any

    @property
    def spaces(self) -> Spaces:
        """Its sizes."""
        H, S, A, _ = self.world.values.shape
        return Spaces(S, A, H)

    @property
    def scale(self) -> float:
        """What the service divides features by, so that no trajectory has a norm above 1."""
        return Table(self.spaces, self.world.values).largest_norm()

    @property
    def bound(self) -> float:
        """B = ||w*||, in the scale in which ||phi(tau)|| <= 1."""
        return float(np.linalg.norm(self.weights)) * self.scale

    @property
    def theory(self) -> RegretSetting:
        """What the regret bounds are computed from."""
        return RegretSetting(self.spaces, len(self.weights), self.bound, FAILURE)

    def problem(self) -> PlanningProblem:
        """The truth, to plan in."""
        H, S, A = self.spaces.shape
        return PlanningProblem(
            start=self.world.start,
            transitions=TransitionModel.from_dense(self.world.moves.reshape(S * A, S), S, A),
            weights=self.world.values @ self.weights,
            bonuses=np.zeros((H, S, A)),
            ended_weights=np.zeros((H + 1, S + 1)),
        )


@cache
def corridor() -> Known:
    """Four places in a row and five steps; good labels come from time spent at the far end."""
    S, H = 4, 5
    moves = np.zeros((S, 2, S))
    for s in range(S):
        left, right = max(s - 1, 0), min(s + 1, S - 1)
        for action, (wanted, other) in enumerate(((left, right), (right, left))):
            moves[s, action, wanted] += 1.0 - SLIP
            moves[s, action, other] += SLIP
    values = np.broadcast_to(np.eye(S)[None, :, None, :], (H, S, 2, S)).copy()
    return Known(World(np.eye(S)[0], moves, values), np.array([-0.6, -0.4, -0.2, 1.2]))


@cache
def signs() -> Known:
    """Three states and steps; every step has a feature that is to be had with either sign."""
    world, omega = signed_world(states=3, pairs=1, horizon=3, seed=0)
    return Known(world, np.array([1.0, -0.8, 0.6]), omega)


WORLDS = {"corridor": corridor, "signs": signs}


@dataclass(frozen=True)
class Contender:
    """An agent kind with its options."""

    label: str
    algorithm: dict[str, Any]


CONTENDERS = {
    "uniform": Contender("uniform", {"kind": "uniform"}),
    "thompson": Contender("thompson", {"kind": "thompson"}),
    "ucbvi": Contender("ucbvi", {"kind": "ucbvi"}),
    "exact": Contender("ucbvi_exact", {"kind": "ucbvi_exact"}),
    "explore": Contender("ucbvi_explore", {"kind": "ucbvi_explore", "optimism": "logit"}),
    "ucbvi paper": Contender(
        "ucbvi, paper's constants", {"kind": "ucbvi", "constants": "paper", "epsilon": 0.1}
    ),
    "exact paper": Contender(
        "ucbvi_exact, paper's constants", {"kind": "ucbvi_exact", "constants": "paper"}
    ),
}


def play(world: str, name: str, seed: int, episodes: int) -> list[Record]:
    """One run, a row an episode."""
    known = WORLDS[world]()
    agent = make_contender(known, dict(CONTENDERS[name].algorithm), seed, episodes)
    game, rows = Game(known, agent, seed), []
    head = {"world": world, "name": name, "seed": seed}
    plan: Plan | None = None
    planned_at = 0
    for number in range(episodes):
        labels = len(agent.experience.labels)
        if plan is None or labels - planned_at >= agent.patience():
            plan, planned_at = agent.plan(number, certify=False), labels
        rows.append(head | game.episode(number, plan))
    return rows


class Game:
    """An agent in a known world: its episodes, and what each of its policies lacks."""

    def __init__(self, known: Known, agent: Agent[Any], seed: int) -> None:
        self.known, self.agent, self.seed = known, agent, seed
        self.problem = known.problem()
        self.optimum = plan_exact(self.problem).value
        self.regret = 0.0
        self._valued: tuple[Plan, float] | None = None

    def episode(self, number: int, plan: Plan) -> Record:
        """Play the plan, and label it where the agent asks for that."""
        rng, policy = generator(self.seed, _LUCK, number), plan.policy
        memory: tuple[int, ...] = ()

        def choose(step: int, state: int) -> int:
            nonlocal memory
            action, memory = policy.act(step, state, memory, uniform(self.seed, number, step))
            return action

        trajectory, label = self.known.world.play(choose, rng), None
        self.agent.finish(number, trajectory)
        if plan.label_required:
            logit = float(self.known.world.row(trajectory) @ self.known.weights)
            label = int(rng.random() < 1.0 / (1.0 + math.exp(-logit)))
            self.agent.label(number, label)
        value = self._value(plan)
        self.regret += self.optimum - value
        return {"episode": number + 1, "label": label, "value": value, "regret": self.regret}

    def _value(self, plan: Plan) -> float:
        if self._valued is None or self._valued[0] is not plan:
            self._valued = plan, policy_value(self.problem, plan.policy)
        return self._valued[1]


def make_contender(known: Known, algorithm: dict[str, Any], seed: int, episodes: int) -> Agent[Any]:
    """The agent, told what the theorems take to be known of the world."""
    S, A, H = known.spaces.states, known.spaces.actions, known.spaces.horizon
    if algorithm.get("constants") == "paper":
        algorithm |= {"norm_bound": known.bound, "episodes": episodes, "delta": FAILURE}
    if algorithm["kind"] == "ucbvi_explore":
        algorithm |= {"episodes": episodes, "omega": known.omega}
    spec = {
        "states": S, "actions": A, "horizon": H, "seed": seed, "algorithm": algorithm,
        "features": {"kind": "table", "values": known.world.values.tolist()},
        "initial_states": known.world.start.tolist(),
    }  # fmt: skip
    agent = make_agent(parse(AgentSpec, spec))
    agent.check_budget()
    return agent
