"""The uniform policy: every action with the same probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from app.learning.arrays import Arrays
from app.planning.problem import Plan


@dataclass(frozen=True)
class UniformPolicy:
    """Draws every action with the same probability."""

    kind: ClassVar[str] = "uniform"

    actions: int

    def act(
        self,
        step: int,  # noqa: ARG002 - every policy takes them
        state: object,  # noqa: ARG002
        memory: tuple[int, ...],
        uniform: float,
    ) -> tuple[int, tuple[int, ...]]:
        """An action; nothing is remembered."""
        return int(uniform * self.actions), memory

    def follow(
        self,
        step: int,  # noqa: ARG002 - every policy takes them
        state: object,  # noqa: ARG002
        memory: tuple[int, ...],
        uniform: float,  # noqa: ARG002
        action: int,  # noqa: ARG002
    ) -> tuple[int, ...]:
        """Nothing is remembered."""
        return memory

    def branches(
        self,
        step: int,  # noqa: ARG002
        state: object,  # noqa: ARG002
        memory: tuple[int, ...],
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """Every action, with the same probability."""
        return [(1.0 / self.actions, action, memory) for action in range(self.actions)]

    def arrays(self) -> Arrays:
        """The number of actions."""
        return {"actions": np.array(self.actions)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> UniformPolicy:
        """Restore a policy from its arrays."""
        return cls(int(arrays["actions"]))


def plan_uniform(actions: int) -> Plan:
    """The uniform policy as a plan; its value is only known to be a probability."""
    return Plan(
        "none",
        UniformPolicy(actions),
        value=0.5,
        upper=1.0,
        lower=0.0,
        cells=0,
        bytes=0,
        seconds=0.0,
    )
