"""The baseline every curve is drawn against: every action with the same probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from app.agents.base import Agent, Mode, Options
from app.learning.planning.problem import Plan, Policy


class UniformOptions(Options):
    """Nothing to choose."""

    kind: Literal["uniform"] = "uniform"


@dataclass(frozen=True)
class UniformPolicy:
    """Every action with the same probability, whatever happened."""

    actions: int

    def act(
        self,
        step: int,  # noqa: ARG002 - every policy takes them
        state: int,  # noqa: ARG002
        memory: tuple[int, ...],
        uniform: float,
    ) -> tuple[int, tuple[int, ...]]:
        """An action; nothing is remembered."""
        return int(uniform * self.actions), memory

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The number of actions."""
        return {"actions": np.array(self.actions)}


class Uniform(Agent[UniformOptions]):
    """Acts uniformly at random and learns nothing from labels."""

    options_type: ClassVar[type[Options]] = UniformOptions

    def plan(
        self,
        episode: int,  # noqa: ARG002 - every kind takes them
        mode: Mode = "learn",  # noqa: ARG002
        pending: Sequence[Policy] = (),  # noqa: ARG002
        certify: bool = True,  # noqa: ARG002
    ) -> Plan:
        """The uniform policy; nothing is known of its value but that it is a probability."""
        policy = UniformPolicy(self.spec.actions)
        return Plan("none", policy, 0.5, 1.0, 0.0, cells=0, bytes=0, seconds=0.0)
