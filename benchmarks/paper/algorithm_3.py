"""Whole runs of the paper's Algorithm 3 with its constants and its objective.

In both worlds all assumptions of its theorem hold: labels are logistic, no trajectory has a norm
above 1, steps are orthogonal, and every direction can be reached to omega.

- `one step`: one state, two actions, one feature that is -1 or 1. N_EUL and N_EVAL are the lemma's
  with C1 = C2 = 1. One loop covers the only direction, so `max_loops` is 1: the lemma's bound on
  the loops would ask for millions of episodes.
- `signs`: three states, two actions and three steps with random transitions. One episode of EULER
  and one of evaluation are enough for a loop, where the lemma asks for more the larger its
  constants are: the reward of a direction is the same in every state, so that EULER's first plan is
  the best one, and what it reaches is the same in every episode. So C1 and C2 may be as small as
  the options allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from app.agents.kinds.ucbvi_explore.agent import UcbviExplore
from app.learning.paper.explorability import condition_number
from benchmarks.explore_worlds import World
from benchmarks.paper import regret
from benchmarks.paper.regret import Game, Known, make_contender

Record = dict[str, Any]

EPISODES = {"one step": 40_000, "signs": 5_000}
SIZES: dict[str, dict[str, Any]] = {
    "one step": {"max_loops": 1},
    "signs": {"euler_constant": 1e-9, "eval_constant": 1e-9},
}
ACCURACY = 0.1  # of a plan, of the 3 and more that it may be worth with all bonuses
COLUMNS = {name: text for name, text in regret.COLUMNS.items() if name != "name"} | {
    "phase": "euler, evaluation, or optimism: the mixture with probability t^(-1/3), else the plan",
    "optimistic": "the optimistic value V~ of the plan; empty before the first",
    "condition": "the condition number of Sigma_t",
}


@cache
def one_step(sign: int) -> Known:
    """One decision; the good label is likely for the action whose feature has this sign."""
    world = World(np.ones(1), np.ones((1, 2, 1)), np.array([[[[-1.0], [1.0]]]]))
    return Known(world, np.array([float(sign)]), omega=0.999)  # 1, which the option excludes


def world(name: str, seed: int) -> Known:
    """The world of a run. Half of the runs of `one step` have the other good action."""
    return regret.signs() if name == "signs" else one_step(1 if seed % 2 else -1)


def play(name: str, seed: int, episodes: int | None = None) -> Iterator[Record]:
    """One run, a row an episode; ``episodes`` may be fewer than the N of the constants."""
    known, total = world(name, seed), EPISODES[name]
    agent = make_agent(name, seed)
    game, ridge = Game(known, agent, seed), agent.kappa * agent.scale**2
    for number in range(episodes or total):
        found = agent.exploration
        phase = "optimism" if found.is_done else found.phase
        plan = agent.plan(number, certify=False)
        learned = agent.best().follow(agent.experience)
        yield {"world": name, "seed": seed} | game.episode(number, plan) | {
            "phase": phase,
            "optimistic": agent.optimistic_value,
            "condition": condition_number(agent.design_data(learned), ridge),
        }  # fmt: skip


def make_agent(name: str, seed: int) -> UcbviExplore:
    """The agent with the paper's constants."""
    options = {"kind": "ucbvi_explore", "constants": "paper", "epsilon": ACCURACY}
    known = world(name, seed)
    agent = make_contender(known, options | SIZES[name], seed, EPISODES[name])
    assert isinstance(agent, UcbviExplore)
    return agent
