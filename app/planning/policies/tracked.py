"""A policy on tracked states, made to act on plain states by following the automaton."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.learning.arrays import Arrays
from app.learning.world.policy import Policy
from app.planning.policies.grid import GridPolicy
from app.planning.policies.reward import RewardPolicy
from app.planning.reference.paper import PaperPolicy

INNER_KINDS: Mapping[str, Any] = MappingProxyType(
    {inner.kind: inner for inner in (GridPolicy, RewardPolicy, PaperPolicy)}
)
_PREFIX = "inner."


@dataclass(frozen=True)
class TrackedPolicy:
    """Follows an automaton of M memories over S states, and asks another policy for the action.

    The memory is (m, *inner's memory), m = 0 at the start. In plain state s the tracked state is
    p = ``entered[m, s]``; the inner policy acts in p as if it were a state; after its action a
    the memory is m = ``memories[p, a]``.
    """

    kind: ClassVar[str] = "tracked"

    entered: NDArray[np.int32]  # (M, S): the tracked state, 0..P-1
    memories: NDArray[np.int32]  # (P, A)
    inner: Policy  # on the P tracked states

    def act(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float
    ) -> tuple[int, tuple[int, ...]]:
        """The action at ``step`` in ``state``, and what to remember."""
        tracked = self._tracked(state, memory)
        action, after = self.inner.act(step, tracked, memory[1:], uniform)
        return action, (int(self.memories[tracked, action]), *after)

    def follow(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float, action: int
    ) -> tuple[int, ...]:
        """What to remember after ``action``."""
        tracked = self._tracked(state, memory)
        after = self.inner.follow(step, tracked, memory[1:], uniform, action)
        return int(self.memories[tracked, action]), *after

    def branches(
        self, step: int, state: int, memory: tuple[int, ...]
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """Every (probability, action, memory) that ``act`` can give."""
        tracked = self._tracked(state, memory)
        return [
            (chance, action, (int(self.memories[tracked, action]), *after))
            for chance, action, after in self.inner.branches(step, tracked, memory[1:])
        ]

    def _tracked(self, state: int, memory: tuple[int, ...]) -> int:
        return int(self.entered[memory[0] if memory else 0, state])

    def arrays(self) -> Arrays:
        """The automaton, the inner policy's kind, and its arrays under names that begin inner."""
        inner = {"kind": np.array(self.inner.kind), **self.inner.arrays()}
        tracker_arrays = {"entered": self.entered, "memories": self.memories}
        return tracker_arrays | {_PREFIX + name: array for name, array in inner.items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> TrackedPolicy:
        """Restore a policy from its arrays."""
        inner = {
            name.removeprefix(_PREFIX): array
            for name, array in arrays.items()
            if name.startswith(_PREFIX)
        }
        policy = INNER_KINDS[str(inner.pop("kind"))].from_arrays(inner)
        memories = arrays["memories"]
        if memories.ndim == 1:  # stored by a version whose automata read states alone
            weights = inner["weights"] if "weights" in inner else inner["steps_a"]
            memories = np.repeat(memories[:, None], weights.shape[-1], axis=1)
        return cls(arrays["entered"], memories, policy)
