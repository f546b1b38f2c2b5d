"""The trajectory of a stored episode, as agents take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from app.learning.trajectory import UNREPORTED, Trajectory


class PlayedStep(Protocol):
    """A stored step: the indices of its state and action, and the numbers that were observed."""

    @property
    def state(self) -> int:
        """The index of the state."""

    @property
    def action(self) -> int:
        """The index of the action."""

    @property
    def observation(self) -> list[float] | None:
        """The numbers that the client sent, if it sent any."""


def trajectory_of(
    steps: Sequence[PlayedStep], final: int | None = None, ended: bool = False
) -> Trajectory:
    """The trajectory of some steps, with the final state where it was reported."""
    seen = [step.observation for step in steps if step.observation is not None]
    return Trajectory(
        np.array([step.state for step in steps], dtype=np.int64),
        np.array([step.action for step in steps], dtype=np.int64),
        UNREPORTED if final is None else final,
        ended,
        np.array(seen, dtype=np.float64) if seen else None,
    )
