"""Exact plans by enumeration: the truth that the planners are compared with."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import expit

from app.errors import InvalidValue
from app.learning.arrays import Floats, Integers
from app.planning.problem import Plan, PlanBudget, PlanningProblem
from app.planning.reference.exact import HISTORY_BUDGET, Worth, plan_histories

Space = Literal["logit", "reward"]


def plan_exact(
    problem: PlanningProblem, space: Space = "logit", budget: PlanBudget = HISTORY_BUDGET
) -> Plan:
    """The best history-dependent policy of the model, by enumeration.

    In logit space an episode is worth mu(offset + sum w) + sum b (widths play no part), in reward
    space min(mu(offset + sum w) + sum v, 1) + sum b.
    """
    worth = sum_worth(problem, space)
    return plan_histories(problem.start, problem.transitions, problem.horizon, worth, budget)


def sum_worth(problem: PlanningProblem, space: Space) -> Worth:
    """The worth of episodes for a problem whose features are sums over steps."""
    if space not in ("logit", "reward"):
        raise InvalidValue("space", "logit or reward")
    widths, ended_widths = problem.widths, problem.ended_widths

    def worth(states: Integers, actions: Integers, ended: Integers) -> Floats:
        taken = (np.arange(states.shape[1]), states, actions)
        over, steps = ended >= 0, states.shape[1]
        rest = np.where(over, problem.ended_weights[steps, ended], 0.0)
        rewards = expit(problem.offset + problem.weights[taken].sum(axis=1) + rest)
        if space == "reward" and widths is not None and ended_widths is not None:
            rest = np.where(over, ended_widths[steps, ended], 0.0)
            rewards = np.minimum(rewards + widths[taken].sum(axis=1) + rest, 1.0)
        values: Floats = rewards + problem.bonuses[taken].sum(axis=1)
        return values

    return worth
