"""The judge of a task: the true probability that an episode is labelled good.

A judge is a small deterministic automaton that reads the episode. Its memory starts at ``first``
and moves to ``update[m, s, a]`` at every action. At the end the label is good with probability
``alive[m]`` at the horizon, ``ended[m, e]`` if the environment ended the episode in state e. The
best policy follows by dynamic programming over (memory, state), without approximation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from app.errors import InvalidValue
from app.learning.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Judge:
    """An automaton with M memories, and the probability of a good label in each."""

    update: Integers  # (M, S, A): the next memory
    alive: Floats  # (M,): P(good) when the horizon came first
    ended: Floats  # (M, S): P(good) when the episode ended in a state
    first: int = 0

    def __post_init__(self) -> None:
        memories, states, _ = self.update.shape
        if self.alive.shape != (memories,) or self.ended.shape != (memories, states):
            raise InvalidValue("judge", f"probabilities for {memories} memories, {states} states")
        if not 0 <= self.update.min() <= self.update.max() < memories:
            raise InvalidValue("judge.update", f"memories from 0 to {memories - 1}")
        for probabilities in (self.alive, self.ended):
            if not ((probabilities >= 0) & (probabilities <= 1)).all():
                raise InvalidValue("judge", "probabilities")

    @property
    def memories(self) -> int:
        """M, the number of memories."""
        return len(self.alive)

    @classmethod
    def of_end(cls, good: NDArray[np.bool_], actions: int) -> Judge:
        """Good iff the environment ended the episode in a ``good`` state; ``good`` is (S,)."""
        update = np.zeros((1, len(good), actions), dtype=np.int64)
        return cls(update, np.zeros(1), good[None, :].astype(np.float64))

    @classmethod
    def of_streak(cls, good: NDArray[np.bool_], length: int, actions: int) -> Judge:
        """Good iff the last ``length`` steps were all taken in ``good`` states.

        The memory is the length of the current streak, at most ``length``.
        """
        memories = np.arange(length + 1)[:, None]
        streak = np.where(good[None, :], np.minimum(memories + 1, length), 0)
        update = np.repeat(streak[:, :, None], actions, axis=2)
        alive = (np.arange(length + 1) == length).astype(np.float64)
        return cls(update, alive, np.repeat(alive[:, None], len(good), axis=1))

    @classmethod
    def of_visits(cls, needed: Sequence[int], states: int, actions: int) -> Judge:
        """Good iff an action was taken in each ``needed`` state; the memory is their set."""
        bits = np.zeros(states, dtype=np.int64)
        bits[list(needed)] = 1 << np.arange(len(needed))
        memories = np.arange(1 << len(needed))
        update = np.repeat((memories[:, None] | bits)[:, :, None], actions, axis=2)
        alive = (memories == memories[-1]).astype(np.float64)
        return cls(update, alive, np.repeat(alive[:, None], states, axis=1))

    @classmethod
    def of_points(cls, points: Integers, horizon: int, unit: float, offset: float) -> Judge:
        """Good with probability mu(offset + unit * total), total the sum of ``points[s_h, a_h]``.

        ``points`` is (S, A), whole and not negative: the memory is the total itself.
        """
        if points.min() < 0:
            raise InvalidValue("points", "whole numbers that are not negative")
        largest = horizon * int(points.max())
        totals = np.arange(largest + 1)
        # The cap is never reached within the horizon; it only keeps the table closed.
        update = np.minimum(totals[:, None, None] + points[None, :, :], largest)
        alive = expit(offset + unit * totals)
        return cls(update, alive, np.repeat(alive[:, None], len(points), axis=1))
