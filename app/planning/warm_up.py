"""Warm-up: compile the planners' kernels before the first request."""

from __future__ import annotations

import numpy as np

from app.learning.continuous.interpolation import interpolate
from app.learning.continuous.net import choose_net
from app.learning.world.model import TransitionModel
from app.planning.fast.planner import plan_fast
from app.planning.net.problem import NetModel, NetProblem
from app.planning.net.sweep import solve
from app.planning.policies.net import NetPolicy
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
    for first in (1, 2):  # with and without an accumulator
        _act_on_a_net(first)


def _act_on_a_net(first: int) -> None:
    """Choose a net, plan on it and act once."""
    points = np.random.default_rng(0).random((40, 2))
    centres = choose_net(points, 20, np.random.default_rng(0))
    chosen, weights = interpolate(centres, centres, 6)
    model = NetModel(chosen[:, None, :], weights[:, None, :], np.zeros((20, 1)))
    ones = np.ones((20, 1))
    problem = NetProblem(model, 2, first, np.zeros(20), 0.0, 0.0, ones, ones)
    policy = NetPolicy.of(np.zeros(2), np.ones(2), centres, problem, solve(problem))
    policy.act(0, (0.5, 0.5), (), 0.0)


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
