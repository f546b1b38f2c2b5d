"""The uniform policy: every action with the same probability."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from app.learning.arrays import Arrays, Booleans
from app.planning.policies.draws import allowed_array, allowed_of, draw, possible_actions
from app.planning.problem import Plan


@dataclass(frozen=True)
class UniformPolicy:
    """Draws every action that is possible in a state with the same probability."""

    kind: ClassVar[str] = "uniform"

    actions: int
    allowed: Booleans | None = field(default=None, compare=False)  # (S, A); None: every action

    def act(
        self,
        step: int,  # noqa: ARG002 - every policy takes them
        state: object,
        memory: tuple[int, ...],
        uniform: float,
    ) -> tuple[int, tuple[int, ...]]:
        """An action; nothing is remembered."""
        return draw(uniform, self.actions, self.allowed, state), memory

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
        state: object,
        memory: tuple[int, ...],
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """Every possible action, with the same probability."""
        possible = possible_actions(self.actions, self.allowed, state)
        return [(1.0 / len(possible), action, memory) for action in possible]

    def arrays(self) -> Arrays:
        """The number of actions, and which are possible where not all are."""
        return {"actions": np.array(self.actions)} | allowed_array(self.allowed)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> UniformPolicy:
        """Restore a policy from its arrays."""
        return cls(int(arrays["actions"]), allowed_of(arrays))


def plan_uniform(actions: int, allowed: Booleans | None = None) -> Plan:
    """The uniform policy as a plan; its value is only known to be a probability."""
    return Plan(
        "none",
        UniformPolicy(actions, allowed),
        value=0.5,
        upper=1.0,
        lower=0.0,
        cells=0,
        bytes=0,
        seconds=0.0,
    )
