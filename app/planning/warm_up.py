"""Warm-up: compile the planners' kernels before the first request."""

from __future__ import annotations

import numpy as np

from app.learning.world.model import TransitionModel
from app.planning.fast.planner import plan_fast
from app.planning.problem import PlanningProblem
from app.planning.reward.planner import plan_reward

_STATES = 8
_MANY_ACTIONS = 257  # from here on a policy's table has 16-bit entries


def warm_up() -> None:
    """Compile every kernel that planning uses, or load it from the cache."""
    for actions in (1, _MANY_ACTIONS):
        for followers in (1, _STATES):  # sparse rows, then matrix products
            plan_fast(_problem(actions, followers))
        plan_reward(_problem(actions, 1), epsilon=0.5)


def _problem(actions: int, followers: int) -> PlanningProblem:
    matrix = np.zeros((_STATES * actions, 2 * _STATES + 1))
    matrix[:, :followers] = 1.0 / followers
    weights, ended = np.ones((2, _STATES, actions)), np.zeros((3, _STATES + 1))
    return PlanningProblem(
        start=np.full(_STATES, 1.0 / _STATES),
        transitions=TransitionModel.from_dense(matrix, _STATES, actions),
        weights=weights,
        bonuses=0.0 * weights,
        ended_weights=ended,
        widths=0.1 * weights,
        ended_widths=ended,
    )
