"""Play episodes of a task, and evaluate the true success of a policy."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from app.learning.world.policy import Policy
from app.planning.policies.grid import GridPolicy
from app.planning.policies.markov import MarkovPolicy
from app.planning.policies.tracked import TrackedPolicy
from app.planning.policies.uniform import UniformPolicy
from app.simulation.grid_rollouts import grid_value
from app.simulation.tables import pick, random_unit, tables
from app.simulation.tasks.base import Task


class Environment:
    """Plays one episode at a time: ``reset``, then at most H times ``step``.

    It runs the task's judge along with the episode, so that ``success_probability`` is known at the
    end.
    """

    def __init__(self, task: Task) -> None:
        world = tables(task)
        self.task = task
        # Lists, because reading one number from a list is several times faster than from an array.
        self._start: list[float] = world.start.tolist()
        cuts = world.indptr[1:-1]
        self._columns: list[list[int]] = [part.tolist() for part in np.split(world.columns, cuts)]
        self._cumulative: list[list[float]] = [
            part.tolist() for part in np.split(world.cumulative, cuts)
        ]
        self._update = task.judge.update
        self._rng: np.random.Generator | None = None
        self.state = 0
        self.steps = 0
        self.ended = False
        self._memory = task.judge.first

    def reset(self, rng: np.random.Generator) -> int:
        """Start an episode with random numbers from ``rng``. Return its first state."""
        self._rng = rng
        self.state = bisect_right(self._start, rng.random())
        self.steps = 0
        self.ended = False
        self._memory = self.task.judge.first
        return self.state

    def step(self, action: int) -> tuple[int, bool]:
        """Take an action. Return the next state and whether the environment ended the episode."""
        if self._rng is None or self.done:
            raise RuntimeError("reset the environment before stepping: the episode is over")
        self._memory = self._update[self._memory, self.state, action]
        row = self.state * self.task.actions + action
        column = self._columns[row][bisect_right(self._cumulative[row], self._rng.random())]
        self.ended = column >= self.task.states
        self.state = column - self.task.states if self.ended else column
        self.steps += 1
        return self.state, self.ended

    @property
    def done(self) -> bool:
        """Whether the episode is over, by the environment or by the horizon."""
        return self.ended or self.steps == self.task.horizon

    @property
    def success_probability(self) -> float:
        """The true probability of a good label for the finished episode."""
        judge = self.task.judge
        if self.ended:
            return float(judge.ended[self._memory, self.state])
        return float(judge.alive[self._memory])

    def label(self) -> int:
        """Draw the label of the finished episode."""
        if self._rng is None or not self.done:
            raise RuntimeError("the episode is not over")
        return int(self._rng.random() < self.success_probability)


def evaluate(task: Task, policy: Policy, rollouts: int = 2000, seed: int = 0) -> float:
    """The true mean success probability of a policy, exact or over ``rollouts`` episodes.

    It is exact for a policy that acts on step and state alone. Otherwise episode i has the same
    random numbers under every policy and at every call with the same seed.
    """
    if isinstance(policy, UniformPolicy):
        return task.uniform()
    if isinstance(policy, MarkovPolicy):
        return task.value(np.eye(task.actions)[policy.actions])
    tracked = policy if isinstance(policy, TrackedPolicy) else None
    acting = policy if tracked is None else tracked.inner
    if isinstance(acting, GridPolicy):
        return grid_value(task, acting, rollouts, seed, tracked)
    return _played(task, policy, rollouts, seed)


def _played(task: Task, policy: Policy, rollouts: int, seed: int) -> float:
    """Simulate any policy by calling ``act`` at every step."""
    world, S, A = tables(task), task.states, task.actions
    total = 0.0
    for episode in range(rollouts):
        state = int(pick(world.start, 0, S, random_unit(seed, episode, 2 * task.horizon)))
        memory: tuple[int, ...] = ()
        judged, column = world.first, state
        for step in range(task.horizon):
            uniform = random_unit(seed, episode, 2 * step + 1)
            action, memory = policy.act(step, state, memory, uniform)
            judged = world.update[judged, state, action]
            row = state * A + action
            unit = random_unit(seed, episode, 2 * step)
            entry = pick(world.cumulative, world.indptr[row], world.indptr[row + 1], unit)
            column = int(world.columns[entry])
            if column >= S:
                break
            state = column
        total += world.ended[judged, column - S] if column >= S else world.alive[judged]
    return float(total / rollouts)
