"""The size of exploration of `ucbvi_explore`, computed from its options."""

from __future__ import annotations

import math

from app.agents.kinds.ucbvi_explore.exploration import ExplorationSize
from app.agents.kinds.ucbvi_explore.options import UcbviExploreOptions
from app.agents.options import MOST_EPISODES
from app.errors import InvalidValue
from app.learning.features.base import StepFeatures
from app.learning.paper.confidence import ALGORITHM_3, delta_of_bounds
from app.learning.paper.euler import confidence
from app.learning.paper.explorability import (
    euler_episodes,
    evaluation_episodes,
    exploration_bound,
    loop_bound,
    typical_omega,
)

TUNED_EPISODES, TUNED_EULER, TUNED_EVAL = 1000, 2, 1
TUNED_SHARE = 3  # exploration takes at most this fraction of the episodes, as 1 / n
PAPER_SPAN = 2.0  # |v . phi(tau)| <= 1


def exploration_size(
    options: UcbviExploreOptions, features: StepFeatures
) -> tuple[int, ExplorationSize]:
    """N and the size of exploration. Raises `InvalidValue` if N is too small."""
    paper = options.constants == "paper"
    omega = options.omega or typical_omega(features)
    episodes = options.episodes or (_least(options, features, omega) if paper else TUNED_EPISODES)
    size = _size(options, features, omega, episodes)
    needed = _needed(size, options, features.dimension, episodes)
    if needed >= episodes:
        raise InvalidValue(
            "algorithm.episodes",
            f"more than {needed:,}: exploration alone may take {max(size.most_loops, 1):,} loops "
            f"of {size.n_euler:,} + {size.n_eval:,} episodes",
        )
    return episodes, size


def _size(
    options: UcbviExploreOptions, features: StepFeatures, omega: float, episodes: int
) -> ExplorationSize:
    paper, spaces, d = options.constants == "paper", features.spaces, features.dimension
    delta = delta_of_bounds(options.delta, episodes, ALGORITHM_3) if paper else options.delta
    n_euler, n_eval = options.n_euler or TUNED_EULER, options.n_eval or TUNED_EVAL
    if paper and options.n_euler is None:
        c1 = options.euler_constant
        n_euler = int(euler_episodes(spaces, d, episodes, omega, delta, c1))
    if paper and options.n_eval is None:
        n_eval = int(evaluation_episodes(d, episodes, omega, delta, options.eval_constant))
    loops = max(math.floor(loop_bound(d, episodes, omega)), 1)
    if options.max_loops is not None:
        loops = min(loops, options.max_loops)
    elif not paper:
        loops = min(loops, episodes // (TUNED_SHARE * (n_euler + n_eval)))
    if (
        paper
    ):  # the failure probability delta is divided among the runs of EULER (corollary on EULER)
        delta /= 2.0 * loop_bound(d, episodes, omega)
    c = confidence(spaces.states, spaces.actions, episodes * spaces.horizon, delta)
    if paper:
        return ExplorationSize(omega, n_euler, n_eval, loops, c, PAPER_SPAN)
    return ExplorationSize(omega, n_euler, n_eval, loops, options.euler_scale * c)


def _needed(
    size: ExplorationSize, options: UcbviExploreOptions, dimension: int, episodes: int
) -> int:
    """The number that N must exceed: all of exploration, or three tuned loops."""
    if not size.most_loops:
        return TUNED_SHARE * size.per_loop - 1
    if options.constants == "paper" and options.max_loops is None:
        return math.floor(exploration_bound(dimension, episodes, size.omega, size.per_loop))
    return size.most_episodes


def _least(options: UcbviExploreOptions, features: StepFeatures, omega: float) -> int:
    """The smallest N that exceeds the exploration it requires."""
    episodes, needed = 1, 1
    while needed >= episodes:
        episodes = needed + 1
        size = _size(options, features, omega, episodes)
        needed = _needed(size, options, features.dimension, episodes)
        if needed >= MOST_EPISODES:
            raise InvalidValue(
                "algorithm.constants",
                '"tuned": with the paper\'s, exploration would take over 10^18 episodes',
            )
    return episodes


def sentence(size: ExplorationSize) -> str:
    """The length of exploration in one sentence, for warnings."""
    return (
        f"Exploration takes up to {size.most_episodes:,} episodes without labels: at most "
        f"{size.most_loops:,} loops of {size.n_euler:,} for EULER and {size.n_eval:,} to evaluate."
    )
