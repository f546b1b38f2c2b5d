"""The paper's experiment: a 10 x 15 grid whose start and goal are drawn anew for every episode.

The agent sees four numbers, its row and column and the goal's. A start and a goal are uniform over
the cells, independently. The label is good iff the agent was at the goal or beside it (one of the
four neighbours) at each of the last three steps. There are 150 x 150 pairs of cell and goal, so the
success probability of any policy of what is seen can be computed instead of estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.learning.arrays import Floats, Integers
from app.learning.randomness import generator, mix
from app.learning.trajectory import Trajectory
from app.simulation.tasks.grid import COLUMNS, HORIZON, LAST, MOVES, ROWS, moves

CELLS, ACTIONS = ROWS * COLUMNS, len(MOVES)
NEARBY = 3  # differences to the goal are hinted at up to here
_WORLD = 103  # address of the generator of starts and goals


class Reactive(Protocol):
    """A policy that acts on what it sees now, for many at once."""

    def probabilities(self, observations: Floats) -> Floats:
        """P(action | observation) for each row (n, k), shape (n, A)."""
        ...


@dataclass(frozen=True)
class GoalGrid:
    """The grid; with ``hints`` the difference to the goal, at most 3 either way, is seen too."""

    hints: bool = False
    horizon: int = HORIZON

    def spec(self, algorithm: dict[str, Any], seed: int) -> dict[str, Any]:
        """An agent's specification for this grid."""
        edge = [float(NEARBY)] * 2 if self.hints else []
        low = [0.0] * 4 + [-bound for bound in edge]
        high = [ROWS - 1.0, COLUMNS - 1.0] * 2 + edge
        return {
            "observations": {"low": low, "high": high},
            "actions": ACTIONS,
            "horizon": self.horizon,
            "algorithm": algorithm,
            "seed": seed,
        }

    def see(self, cells: Integers, goals: Integers) -> Floats:
        """What is seen from each cell with each goal, shape (n, 4), or (n, 6) with hints."""
        place = np.stack(np.divmod(np.arange(CELLS), COLUMNS), axis=1).astype(np.float64)
        here, there = place[cells], place[goals]
        away = [np.clip(there - here, -NEARBY, NEARBY)] if self.hints else []
        return np.concatenate([here, there, *away], axis=1)

    def success(self, policy: Reactive) -> float:
        """The exact success probability of a policy over all starts and goals."""
        cells, goals = (pairs.ravel() for pairs in np.indices((CELLS, CELLS)))
        return self._success(policy.probabilities(self.see(cells, goals)))

    def uniform(self) -> float:
        """The success probability of acting uniformly at random."""
        return self._success(np.full((CELLS * CELLS, ACTIONS), 1.0 / ACTIONS))

    def _success(self, chances: Floats) -> float:
        """Backwards over the steps, for every pair of cell and goal at once."""
        chances = chances.reshape(CELLS, CELLS, ACTIONS)
        target, near = moves(ROWS, COLUMNS), near_goal()
        values = np.ones((CELLS, CELLS))  # (cell, goal): chance of success from here on
        for step in reversed(range(self.horizon)):
            if step < self.horizon - 1:
                values = np.einsum("cag,cga->cg", values[target], chances)
            if step >= self.horizon - LAST:
                values = values * near
        return float(values.mean())

    def play(self, policy: Reactive, seed: int, numbers: Sequence[int]) -> list[Played]:
        """Episodes side by side; start, goal and luck belong to the seed and the number."""
        drawn = [generator(seed, _WORLD, number).integers(CELLS, size=2) for number in numbers]
        cells, goals = np.array(drawn, dtype=np.int64).reshape(-1, 2).T
        luck = uniforms(seed, numbers, self.horizon)
        target, near = moves(ROWS, COLUMNS), near_goal()
        seen, taken, visited = [], [], []
        for step in range(self.horizon):
            seen.append(self.see(cells, goals))
            visited.append(cells)
            bounds = np.cumsum(policy.probabilities(seen[-1]), axis=1)
            taken.append((bounds[:, :-1] <= luck[:, step, None]).sum(axis=1))
            cells = target[cells, taken[-1]]
        good = near[np.array(visited[-LAST:]), goals].min(axis=0)
        whole = zip(*(np.stack(part, axis=1) for part in (seen, taken, visited)), strict=True)
        return [
            Played(Trajectory.observed(o, a), path, int(goal), int(label))
            for (o, a, path), goal, label in zip(whole, goals, good, strict=True)
        ]


@dataclass(frozen=True)
class Played:
    """One episode, with what the judge knows of it."""

    trajectory: Trajectory
    path: Integers  # (H,): the cells acted in
    goal: int
    label: int


def near_goal() -> NDArray[np.bool_]:
    """Whether a cell is the goal or beside it, shape (cell, goal)."""
    row, column = np.divmod(np.arange(CELLS), COLUMNS)
    apart = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    return np.asarray(apart <= 1)


def uniforms(seed: int, episodes: Sequence[int], steps: int) -> NDArray[np.float64]:
    """`uniform` of many episodes at each of their first steps, shape (episodes, steps)."""
    first = np.uint64(mix(seed & (2**64 - 1)))
    numbers = _mix_all(first ^ np.array(episodes, dtype=np.uint64))
    bits = _mix_all(numbers[:, None] ^ np.arange(steps, dtype=np.uint64))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix_all(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`mix` of every element; arrays of 64-bit integers wrap around."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
