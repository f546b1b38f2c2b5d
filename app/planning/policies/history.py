"""The policy of the exact planner: one action for every history that is possible in the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.learning.arrays import Arrays, Booleans
from app.planning.policies.draws import allowed_array, allowed_of, possible_actions

_ASTRAY = -1  # the memory of a history that is impossible in the model


@dataclass(frozen=True)
class HistoryPolicy:
    """Acts from the whole history, remembered as one integer: the number of its last edge.

    The node i of step h is the i-th history s_1, a_1, ..., s_h; its edge with action a has the
    number i * A + a. A node is found by its key, edge * S + state, in the sorted ``keys`` of its
    step (at the first step, the state alone). After a transition that is impossible in
    the model, actions are drawn uniformly.
    """

    kind: ClassVar[str] = "history"

    actions: int
    states: int
    levels: NDArray[np.int64]  # (H + 1,): where the nodes of a step begin
    keys: NDArray[np.int64]  # (nodes,)
    choices: NDArray[np.int64]  # (nodes,)
    allowed: Booleans | None = None  # (S, A): the possible actions; None: every action

    def act(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float
    ) -> tuple[int, tuple[int, ...]]:
        """The action at ``step`` in ``state``, and the edge that it takes."""
        ways = self.branches(step, state, memory)
        _, action, after = ways[int(uniform * len(ways))]
        return action, after

    def follow(
        self,
        step: int,
        state: int,
        memory: tuple[int, ...],
        uniform: float,  # noqa: ARG002 - every policy takes it
        action: int,
    ) -> tuple[int, ...]:
        """The edge that ``action`` takes."""
        node = self._node(step, state, memory[0] if memory else 0)
        return (_ASTRAY if node == _ASTRAY else node * self.actions + action,)

    def branches(
        self, step: int, state: int, memory: tuple[int, ...]
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """Every (probability, action, memory) that ``act`` can give, all equally likely."""
        node = self._node(step, state, memory[0] if memory else 0)
        if node == _ASTRAY:
            possible = possible_actions(self.actions, self.allowed, state)
            return [(1.0 / len(possible), a, (_ASTRAY,)) for a in possible]
        action = int(self.choices[self.levels[step] + node])
        return [(1.0, action, (node * self.actions + action,))]

    def _node(self, step: int, state: int, edge: int) -> int:
        keys = self.keys[self.levels[step] : self.levels[step + 1]]
        key = edge * self.states + state
        node = int(np.searchsorted(keys, key))
        found = edge != _ASTRAY and node < len(keys) and keys[node] == key
        return node if found else _ASTRAY

    def arrays(self) -> Arrays:
        """The policy as named arrays, for storage."""
        return {
            "sizes": np.array([self.actions, self.states]),
            "levels": self.levels,
            "keys": self.keys,
            "choices": self.choices,
        } | allowed_array(self.allowed)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> HistoryPolicy:
        """Restore a policy from its arrays."""
        actions, states = (int(size) for size in arrays["sizes"])
        levels, keys, choices = arrays["levels"], arrays["keys"], arrays["choices"]
        return cls(actions, states, levels, keys, choices, allowed_of(arrays))
