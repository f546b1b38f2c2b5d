"""A task: a known environment and a known judge, so that the best success can be computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.errors import InvalidValue
from app.learning.arrays import Floats
from app.learning.world.model import PROBABILITY_TOLERANCE
from app.simulation.tasks.judge import Judge
from app.wire.base import JsonObject


@dataclass(frozen=True, eq=False)
class Task:
    """A finite environment of S states, A actions and H steps with one label at the end.

    ``transitions[s, a, c]`` is the true model: column ``c < S`` leads to state c, column ``S + e``
    ends the episode in state e. Column ``2 S``, an end in an unknown state, matches the learned
    models and is never used. ``features`` is the feature map that suits the task and
    ``display`` the drawing, as a client would send them.
    """

    name: str
    horizon: int
    start: Floats  # (S,)
    transitions: Floats  # (S, A, 2 S + 1)
    judge: Judge
    features: JsonObject
    display: JsonObject | None = None  # how pages draw it

    def __post_init__(self) -> None:
        S, A = self.states, self.actions
        if self.horizon < 1:
            raise InvalidValue("horizon", "at least one step")
        if self.transitions.shape != (S, A, 2 * S + 1):
            raise InvalidValue("transitions", f"shape {(S, A, 2 * S + 1)}")
        if self.judge.update.shape[1:] != (S, A):
            raise InvalidValue("judge.update", f"shape (memories, {S}, {A})")
        rows = [self.start, *self.transitions.reshape(S * A, -1)]
        if any((row < 0).any() or abs(row.sum() - 1.0) > PROBABILITY_TOLERANCE for row in rows):
            raise InvalidValue("start, transitions", "probabilities that sum to one")
        if self.transitions[:, :, 2 * S].any():
            raise InvalidValue("transitions", "ends that say where")

    @property
    def states(self) -> int:
        """S, the number of states."""
        return len(self.start)

    @property
    def actions(self) -> int:
        """A, the number of actions."""
        return int(self.transitions.shape[1])

    def optimum(self) -> float:
        """The success probability of the best policy, which may depend on the whole history."""
        return self._optimum

    def uniform(self) -> float:
        """The success probability of acting uniformly at random."""
        return self._uniform

    def value(self, policy: Floats) -> float:
        """The success probability of a policy given as P(action | step, state), (H, S, A)."""
        shape = (self.horizon, self.states, self.actions)
        if policy.shape != shape:
            raise InvalidValue("policy", f"shape {shape}, got {policy.shape}")
        return self._backward(policy)

    @cached_property
    def _optimum(self) -> float:
        return self._backward(None)

    @cached_property
    def _uniform(self) -> float:
        shape = (self.horizon, self.states, self.actions)
        return self._backward(np.full(shape, 1.0 / self.actions))

    def _backward(self, policy: Floats | None) -> float:
        """Dynamic programming over (memory, state): the best policy's value, or ``policy``'s."""
        S, A, judge = self.states, self.actions, self.judge
        model = np.ascontiguousarray(self.transitions.reshape(S * A, -1)[:, : 2 * S].T)
        column = np.arange(S * A).reshape(S, A)
        values = np.repeat(judge.alive[:, None], S, axis=1)  # (M, S)
        for step in reversed(range(self.horizon)):
            # onward[m, s*A + a]: worth of (s, a) if the memory AFTER that action is m.
            onward = np.hstack([values, judge.ended]) @ model
            choices = onward[judge.update, column]  # (M, S, A)
            values = choices.max(2) if policy is None else (choices * policy[step]).sum(2)
        return float(values[judge.first] @ self.start)
