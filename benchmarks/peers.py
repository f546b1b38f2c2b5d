"""Tabular peers: what the field runs when the only reward is one label at the end.

Each kind is an algorithm and the table it keeps: ``/state`` looks at the state alone, ``/step`` at
the state and the step. Q-learning learns an episode backwards once its label is there, which beats
step-by-step updates by far when the only reward comes last.

Each kind comes as a textbook would set it, which is how a user begins, and tuned: by random search
over the very tasks it is measured on, all at once, for low regret and few episodes to 90% of the
optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidValue
from app.simulation.tables import random_unit, tables
from app.simulation.tasks import Task
from benchmarks import peer_kernels as kernels

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHARE = 0.9  # of the optimum, to count the episodes until


class Learner(Protocol):
    """A table to play from and a way to learn from a label."""

    table: Floats  # (R, S, A)

    def epsilon(self, episode: int, /) -> float:
        """The share of random actions in an episode; negative: softmax of the table."""
        ...

    def learn(self, states: Integers, actions: Integers, label: float) -> None:
        """Learn from one labelled episode."""
        ...


@dataclass(frozen=True)
class ValueOptions:
    """How a table of values learns and explores."""

    bootstrap: bool  # Q-learning, or else Monte-Carlo returns
    initial: float
    rate: float  # the smallest step size
    power: float  # step size n^-power until then
    discount: float
    explore: float  # epsilon is explore / (explore + episode), at least least_explore
    least_explore: float


class ValueLearner:
    """Q-learning or every-visit Monte-Carlo control, epsilon-greedy."""

    def __init__(self, shape: tuple[int, int, int], options: ValueOptions) -> None:
        self.table = np.full(shape, options.initial)
        self._visits = np.zeros(shape, dtype=np.int64)
        self._options = options

    def epsilon(self, episode: int) -> float:
        """Decays like 1/t from one."""
        if self._options.explore == 0.0:
            return self._options.least_explore
        decayed = self._options.explore / (self._options.explore + episode)
        return max(decayed, self._options.least_explore)

    def learn(self, states: Integers, actions: Integers, label: float) -> None:
        """Update every pair of the episode."""
        chosen = self._options
        update = kernels.learn_q if chosen.bootstrap else kernels.learn_returns
        sizes = (chosen.rate, chosen.power, chosen.discount)
        update(self.table, self._visits, states, actions, label, *sizes)


@dataclass(frozen=True)
class GradientOptions:
    """How REINFORCE learns."""

    rate: float
    baseline_rate: float


class GradientLearner:
    """REINFORCE on tabular softmax with a baseline per entry."""

    def __init__(self, shape: tuple[int, int, int], options: GradientOptions) -> None:
        self.table = np.zeros(shape)
        self._baseline = np.zeros(shape[:2])
        self._options = options

    def epsilon(self, _episode: int, /) -> float:
        """Softmax."""
        return -1.0

    def learn(self, states: Integers, actions: Integers, label: float) -> None:
        """One gradient step."""
        rates = (self._options.rate, self._options.baseline_rate)
        kernels.learn_gradient(self.table, self._baseline, states, actions, label, *rates)


Options = ValueOptions | GradientOptions

TABLES = ("state", "step")
TEXTBOOK: dict[str, Options] = {
    "q-greedy": ValueOptions(
        bootstrap=True,
        initial=0.0,
        rate=0.1,
        power=1.0,
        discount=0.99,
        explore=0.0,
        least_explore=0.1,
    ),
    "q-optimistic": ValueOptions(
        bootstrap=True,
        initial=1.0,
        rate=0.1,
        power=1.0,
        discount=0.99,
        explore=0.0,
        least_explore=0.0,
    ),
    "monte-carlo": ValueOptions(
        bootstrap=False,
        initial=0.0,
        rate=0.0,
        power=1.0,
        discount=1.0,
        explore=0.0,
        least_explore=0.1,
    ),
    "reinforce": GradientOptions(rate=0.1, baseline_rate=0.1),
}
PEERS: dict[str, dict[str, Options]] = {
    "textbook": {f"{name}/{table}": TEXTBOOK[name] for name in TEXTBOOK for table in TABLES},
    "tuned": {
        "q-greedy/state": ValueOptions(True, 0.0, 0.1, 0.7, 0.9, 30.0, 0.01),
        "q-greedy/step": ValueOptions(True, 0.0, 0.2, 0.3, 0.98, 30.0, 0.03),
        "q-optimistic/state": ValueOptions(True, 1.0, 0.01, 0.4, 0.985, 0.0, 0.0),
        "q-optimistic/step": ValueOptions(True, 1.0, 0.4, 0.3, 0.98, 0.0, 0.0),
        "monte-carlo/state": ValueOptions(False, 0.0, 0.01, 0.7, 0.99, 10.0, 0.01),
        "monte-carlo/step": ValueOptions(False, 0.0, 0.01, 0.7, 0.98, 30.0, 0.03),
        "reinforce/state": GradientOptions(0.4, 0.1),
        "reinforce/step": GradientOptions(3.0, 0.03),
    },
}


@dataclass(frozen=True)
class PeerRun:
    """What a peer did in one run."""

    kind: str
    regret: Floats  # (episodes,): sum so far of optimum - P(good | episode)
    checkpoints: Integers  # (points,): episodes learned from
    values: Floats  # (points,): the greedy policy's success probability then
    optimum: float

    @property
    def episodes_to_90(self) -> int | None:
        """Episodes until the greedy policy first reached 90% of the optimum; None if never."""
        reached = np.flatnonzero(self.values >= SHARE * self.optimum)
        return int(self.checkpoints[reached[0]]) if len(reached) else None


def run_peer(setting: str, kind: str, task: Task, episodes: int, seed: int) -> PeerRun:
    """Let a peer of a setting (textbook or tuned) learn for a number of labelled episodes."""
    if setting not in PEERS:
        raise InvalidValue("setting", f"one of {', '.join(PEERS)}; got {setting!r}")
    if kind not in PEERS[setting]:
        raise InvalidValue("kind", f"one of {', '.join(PEERS[setting])}; got {kind!r}")
    learner = make_learner(PEERS[setting][kind], kind.endswith("/step"), task)
    return run_learner(kind, learner, task, episodes, seed)


def make_learner(options: Options, stepwise: bool, task: Task) -> Learner:
    """A fresh learner with its table."""
    shape = (task.horizon if stepwise else 1, task.states, task.actions)
    if isinstance(options, GradientOptions):
        return GradientLearner(shape, options)
    return ValueLearner(shape, options)


def run_learner(kind: str, learner: Learner, task: Task, episodes: int, seed: int) -> PeerRun:
    """The loop of ``run_peer``; the greedy policy is valued at ever wider checkpoints."""
    world, best = tables(task), task.optimum()
    states, actions = (np.zeros(task.horizon, dtype=np.int64) for _ in range(2))
    success = np.zeros(episodes)
    checkpoints = spread(episodes)
    values: list[float] = []
    for episode in range(episodes):
        epsilon = learner.epsilon(episode)
        length, chance = kernels.play(world, learner.table, epsilon, seed, episode, states, actions)
        success[episode] = chance
        # One draw past those of playing: 2 H was the start.
        label = float(random_unit(seed, episode, 2 * task.horizon + 1) < chance)
        learner.learn(states[:length], actions[:length], label)
        if episode + 1 == checkpoints[len(values)]:
            values.append(task.value(greedy_policy(learner.table, task.horizon)))
    regret = np.cumsum(best - success)
    return PeerRun(kind, regret, np.array(checkpoints), np.array(values), best)


def spread(episodes: int) -> list[int]:
    """When to look: after every episode at first, then every twentieth of what was played."""
    points = [1]
    while points[-1] < episodes:
        points.append(min(points[-1] + max(1, points[-1] // 20), episodes))
    return points


def greedy_policy(table: Floats, horizon: int) -> Floats:
    """The best actions of a table, ties shared evenly, as P(action | step, state)."""
    best = table == table.max(axis=2, keepdims=True)
    policy = best / best.sum(axis=2, keepdims=True)
    return np.broadcast_to(policy, (horizon, *table.shape[1:]))
