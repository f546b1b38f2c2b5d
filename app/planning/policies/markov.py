"""The policy of a planner for rewards that are known: an action for every step and state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.learning.arrays import Arrays
from app.learning.trajectory import Trajectory


@dataclass(frozen=True)
class MarkovPolicy:
    """Acts from the step and the state alone, the same way every time."""

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

    def branches(
        self, step: int, state: int, memory: tuple[int, ...]
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """The one action."""
        return [(1.0, int(self.actions[step, state]), memory)]

    def agrees(self, trajectory: Trajectory) -> bool:
        """Whether every action of ``trajectory`` is this policy's own."""
        own = self.actions[np.arange(len(trajectory)), trajectory.states]
        return bool((own == trajectory.actions).all())

    def arrays(self) -> Arrays:
        """The table of actions."""
        return {"actions": self.actions}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> MarkovPolicy:
        """The policy that ``arrays`` came from."""
        return cls(arrays["actions"])
