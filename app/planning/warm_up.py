"""Warm-up: compile the planners' kernels, or load them from numba's cache on disk.

Compiling everything takes most of a minute. The default kind needs one stage, the fast planner on
sparse rows; the learning process compiles that one before its first job and the rest while idle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numba.core import event
from numba.core.dispatcher import Dispatcher

from app.learning.continuous.interpolation import interpolate
from app.learning.continuous.net import choose_net
from app.learning.world.model import TransitionModel
from app.planning import rows
from app.planning.fast import choices, grid, sweeps
from app.planning.fast.planner import plan_fast
from app.planning.net.problem import NetModel, NetProblem
from app.planning.net.sweep import solve
from app.planning.policies.net import NetPolicy
from app.planning.problem import PlanningProblem
from app.planning.reward.planner import plan_reward

Progress = Callable[[int, int], None]  # kernels compiled so far, and kernels in all

_STATES = 8
_MANY_ACTIONS = 257  # from here on a policy's table has 16-bit entries
_FIRST_MODULES = {module.__name__: module for module in (rows, grid, choices, sweeps)}


class Stage(NamedTuple):
    """Kernels that are compiled together, and a small problem that needs exactly them."""

    name: str
    compile: Callable[[], object]


def warm_up() -> None:
    """Compile every kernel that planning uses."""
    warm_up_first()
    for stage in LATER_STAGES:
        stage.compile()


def warm_up_first(progress: Progress = lambda _done, _total: None) -> None:
    """Compile what the default kind needs; call ``progress`` after each compiled kernel."""
    with event.install_listener("numba:compile", _Counter(progress, len(first_kernels()))):
        plan_fast(_problem(1, followers=1))


def first_kernels() -> list[str]:
    """The names of the kernels that `warm_up_first` compiles."""
    return [
        f"{module}.{name}"
        for module, contents in _FIRST_MODULES.items()
        for name, kernel in vars(contents).items()
        if isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == module
    ]


class _Counter(event.Listener):
    """Reports how many kernels numba has compiled. A kernel from the cache counts none."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def on_start(self, event: event.Event) -> None:
        """Nothing to report: the kernel is not compiled yet."""

    def on_end(self, event: event.Event) -> None:
        """Report one more kernel."""
        kernel = event.data["dispatcher"].py_func  # numba compiles functions of its own as well
        if kernel.__module__ in _FIRST_MODULES:
            self._done = min(self._done + 1, self._total)
            self._progress(self._done, self._total)


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
    """A small problem; every row has ``followers`` successors."""
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


def _plan_reward(actions: int) -> None:
    plan_reward(_problem(actions, followers=1), epsilon=0.5)


def _plan_fast(actions: int, followers: int) -> None:
    plan_fast(_problem(actions, followers))


LATER_STAGES = (
    Stage("matrix products", partial(_plan_fast, 1, _STATES)),
    Stage("nets", partial(_act_on_a_net, 1)),  # without an accumulator
    Stage("nets with an accumulator", partial(_act_on_a_net, 2)),
    Stage("reward space", partial(_plan_reward, 1)),
    Stage("many actions", partial(_plan_fast, _MANY_ACTIONS, 1)),
    Stage("many actions, matrix products", partial(_plan_fast, _MANY_ACTIONS, _STATES)),
    Stage("many actions, reward space", partial(_plan_reward, _MANY_ACTIONS)),
)
