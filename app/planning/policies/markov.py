"""A Markov policy: a table with one action for every step and state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.learning.arrays import Arrays
from app.learning.trajectory import Trajectory


@dataclass(frozen=True)
class MarkovPolicy:
    """Acts from the step and the state alone, deterministically."""

    kind: ClassVar[str] = "markov"

    actions: NDArray[Any]  # (H, S), whole numbers

    def act(
        self,
        step: int,
        state: int,
        memory: tuple[int, ...],
        uniform: float,  # noqa: ARG002 - every policy takes it
    ) -> tuple[int, tuple[int, ...]]:
        """The action at ``step`` in ``state``; nothing is remembered."""
        return int(self.actions[step, state]), memory

    def follow(
        self,
        step: int,  # noqa: ARG002 - every policy takes them
        state: int,  # noqa: ARG002
        memory: tuple[int, ...],
        uniform: float,  # noqa: ARG002
        action: int,  # noqa: ARG002
    ) -> tuple[int, ...]:
        """Nothing is remembered."""
        return memory

    def branches(
        self, step: int, state: int, memory: tuple[int, ...]
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """The one action."""
        return [(1.0, int(self.actions[step, state]), memory)]

    def agrees(self, trajectory: Trajectory) -> bool:
        """Whether this policy would have taken every action of ``trajectory``."""
        taken = self.actions[np.arange(len(trajectory)), trajectory.states]
        return bool((taken == trajectory.actions).all())

    def arrays(self) -> Arrays:
        """The table of actions."""
        return {"actions": self.actions}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> MarkovPolicy:
        """Restore a policy from its arrays."""
        return cls(arrays["actions"])
