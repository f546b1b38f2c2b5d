"""The trajectory of a stored episode, as agents take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from app.learning.trajectory import UNREPORTED, Trajectory


class PlayedStep(Protocol):
    """A stored step: the index of its state and of its action."""

    @property
    def state(self) -> int:
        """The index of the state."""

    @property
    def action(self) -> int:
        """The index of the action."""


def trajectory_of(
    steps: Sequence[PlayedStep], final: int | None = None, ended: bool = False
) -> Trajectory:
    """The trajectory of some steps, with the final state where it was reported."""
    return Trajectory(
        np.array([step.state for step in steps], dtype=np.int64),
        np.array([step.action for step in steps], dtype=np.int64),
        UNREPORTED if final is None else final,
        ended,
    )
