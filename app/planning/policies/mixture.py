"""A mixture of an exploring policy and another one, drawn once in every episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.learning.arrays import Arrays, Booleans
from app.learning.world.policy import Policy
from app.planning.policies.draws import (
    allowed_array,
    allowed_of,
    draw,
    possible_actions,
)
from app.planning.policies.grid import GridPolicy
from app.planning.policies.reward import RewardPolicy
from app.planning.policies.uniform import UniformPolicy
from app.planning.reference.paper import PaperPolicy

INNER_KINDS: Mapping[str, Any] = MappingProxyType(
    {inner.kind: inner for inner in (GridPolicy, RewardPolicy, UniformPolicy, PaperPolicy)}
)
_PREFIX = "inner."

Branch = tuple[float, int, tuple[int, ...]]


@dataclass(frozen=True)
class MixturePolicy:
    """Explores with probability ``chance``, otherwise follows ``inner``, for a whole episode.

    The draw belongs to the episode, not to the plan: several episodes that share a plan draw
    independently. With u the number of the first step, an episode explores if u < chance, by the
    table number floor(u / chance * n) of the n ``tables``; otherwise the inner policy continues
    with (u - chance) / (1 - chance). Without any table exploring is uniform. The memory is (c,
    *inner's memory), c = 0 where the inner policy is followed and c = 1 + the number of a table
    elsewhere.
    """

    kind: ClassVar[str] = "mixture"

    chance: float
    actions: int
    tables: NDArray[Any]  # (n, H, S): the actions of Markov policies, all equally likely
    inner: Policy
    allowed: Booleans | None = None  # (S, A): the possible actions; None: every action

    def act(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float
    ) -> tuple[int, tuple[int, ...]]:
        """The action at ``step`` in ``state``, and what to remember."""
        memory, uniform = self._drawn(memory, uniform)
        if memory[0]:
            return self._explore(step, state, memory[0], uniform), memory
        action, after = self.inner.act(step, state, memory[1:], uniform)
        return action, (0, *after)

    def follow(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float, action: int
    ) -> tuple[int, ...]:
        """What to remember after ``action``."""
        memory, uniform = self._drawn(memory, uniform)
        if memory[0]:
            return memory
        return 0, *self.inner.follow(step, state, memory[1:], uniform, action)

    def _drawn(self, memory: tuple[int, ...], uniform: float) -> tuple[tuple[int, ...], float]:
        """The memory with the episode's draw, and the number that is left of it."""
        if memory:
            return memory, uniform
        if uniform < self.chance:
            uniform = uniform / self.chance
            return (1 + int(uniform * len(self.tables)),), uniform
        return (0,), (uniform - self.chance) / (1.0 - self.chance)

    def _explore(self, step: int, state: int, choice: int, uniform: float) -> int:
        if not len(self.tables):
            return draw(uniform, self.actions, self.allowed, state)
        return int(self.tables[choice - 1, step, state])

    def branches(self, step: int, state: int, memory: tuple[int, ...]) -> list[Branch]:
        """Every (probability, action, memory) that ``act`` can give."""
        if memory:
            return self._branches(step, state, memory)
        n = max(len(self.tables), 1)
        starts = [(1.0 - self.chance, (0,)), *((self.chance / n, (1 + i,)) for i in range(n))]
        return [
            (share * chance, action, after)
            for share, drawn in starts
            if share > 0.0
            for chance, action, after in self._branches(step, state, drawn)
        ]

    def _branches(self, step: int, state: int, memory: tuple[int, ...]) -> list[Branch]:
        if memory[0] == 0:
            inner = self.inner.branches(step, state, memory[1:])
            return [(chance, action, (0, *after)) for chance, action, after in inner]
        if not len(self.tables):
            possible = possible_actions(self.actions, self.allowed, state)
            return [(1.0 / len(possible), action, memory) for action in possible]
        return [(1.0, int(self.tables[memory[0] - 1, step, state]), memory)]

    def arrays(self) -> Arrays:
        """The chance and the tables, and the inner policy under names that begin inner."""
        inner = {"kind": np.array(self.inner.kind), **self.inner.arrays()}
        own = {
            "chance": np.array(self.chance),
            "actions": np.array(self.actions),
            "tables": self.tables,
        } | allowed_array(self.allowed)
        return own | {_PREFIX + name: array for name, array in inner.items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> MixturePolicy:
        """Restore a policy from its arrays."""
        inner = {
            name.removeprefix(_PREFIX): array
            for name, array in arrays.items()
            if name.startswith(_PREFIX)
        }
        policy = INNER_KINDS[str(inner.pop("kind"))].from_arrays(inner)
        chance, actions = float(arrays["chance"]), int(arrays["actions"])
        return cls(chance, actions, arrays["tables"], policy, allowed_of(arrays))
