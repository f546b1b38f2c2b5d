"""What a planner loses, and what it says it may lose, against the accuracy asked for.

Tiny random problems, whose optimum and whose policies' values are sums over all histories. Without
widths the objective is that of logit space (`paper`, `fast`, `exact`), with them that of reward
space (`paper`, `reward`, `exact`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from app.errors import BudgetExceeded
from app.learning.randomness import generator
from app.learning.world.model import TransitionModel
from app.planning.fast.planner import plan_fast
from app.planning.problem import Plan, PlanBudget, PlanningProblem
from app.planning.reference.paper import plan_paper
from app.planning.reward.planner import plan_reward
from benchmarks.exact import Space, plan_exact
from benchmarks.policy_value import policy_value

Record = dict[str, Any]
Planner = Callable[[PlanningProblem, float], Plan]

_PROBLEMS = 303  # address of the generators
STATES, ACTIONS, HORIZON = 2, 3, 3
SUM = 3.0  # the largest size of a sum: the paper's tables grow with its cube
WIDTH = 0.3  # the largest of one step
BONUS = 0.1  # the largest of one step
ACCURACIES = (
    64.0,
    32.0,
    16.0,
    8.0,
    4.0,
    2.0,
    0.9,
    0.3,
    0.1,
    0.03,
    0.01,
    0.003,
    0.001,
    0.0003,
    0.0001,
)
BUDGET = PlanBudget(cells=3e7, bytes=1e9)
COLUMNS = {
    "space": "logit: mu(sum w) + sum b; reward: min(mu(sum w) + sum v, 1) + sum b",
    "planner": "the planner",
    "seed": "of the random problem",
    "epsilon": "the accuracy asked for; 0 for none",
    "loss": "the optimum less the value of the policy, both exact",
    "gap": "what the planner itself says that it may lose",
    "cells": "the size of its tables",
}


def problem(space: Space, seed: int) -> PlanningProblem:
    """A random problem whose sums stay within ``SUM``."""
    rng = generator(seed, _PROBLEMS, int(space == "reward"))
    matrix = rng.dirichlet(np.full(STATES, 0.7), size=STATES * ACTIONS)
    shape = (HORIZON, STATES, ACTIONS)
    share = SUM / HORIZON
    ended = np.zeros((HORIZON + 1, STATES + 1))
    plain = PlanningProblem(
        start=rng.dirichlet(np.ones(STATES)),
        transitions=TransitionModel.from_dense(matrix, STATES, ACTIONS),
        weights=rng.uniform(-share, share, shape),
        bonuses=rng.uniform(0.0, BONUS, shape),
        ended_weights=ended,
    )
    if space == "logit":
        return plain
    return replace(plain, widths=rng.uniform(0.0, WIDTH, shape), ended_widths=ended)


def _exact(space: Space, tiny: PlanningProblem, _: float) -> Plan:
    return plan_exact(tiny, space)


def _paper(tiny: PlanningProblem, epsilon: float) -> Plan:
    return plan_paper(tiny, epsilon, budget=BUDGET)


PLANNERS: dict[Space, dict[str, Planner]] = {
    "logit": {"paper": _paper, "fast": plan_fast, "exact": partial(_exact, "logit")},
    "reward": {"paper": _paper, "reward": plan_reward, "exact": partial(_exact, "reward")},
}


def measure(space: Space, seed: int) -> list[Record]:
    """The true and the certified loss of every planner at every accuracy that it can afford."""
    tiny, rows = problem(space, seed), []
    best = plan_exact(tiny, space).value
    for name, planner in PLANNERS[space].items():
        for epsilon in _accuracies(name):
            try:
                plan = planner(tiny, epsilon)
            except BudgetExceeded:
                break
            row = {"space": space, "planner": name, "seed": seed, "epsilon": epsilon}
            loss = best - policy_value(tiny, plan.policy, space)
            rows.append(row | {"loss": loss, "gap": plan.gap, "cells": plan.cells})
    return rows


def _accuracies(planner: str) -> tuple[float, ...]:
    """What a planner may be asked for: any of it, less than 1, or nothing."""
    if planner == "exact":
        return (0.0,)
    return ACCURACIES if planner == "paper" else tuple(x for x in ACCURACIES if x < 1.0)
