"""The policy of the reward-space planner: actions over (step, state, logit, widths so far)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.learning.arrays import Arrays, Floats


@dataclass(frozen=True)
class RewardPolicy:
    """Acts from the indices (g, j) of the accumulated logit and widths, which it tracks itself.

    It looks up the action at (g, j), clipped to the window of (step, state), then moves both by
    what the action adds, rounded up with the probability of the fraction: both are unbiased. The
    points of a window lie one after the other in ``actions``, j fastest.
    """

    kind: ClassVar[str] = "reward"

    top: int
    steps_a: NDArray[np.int64]  # (H, S, A): whole points that an action moves g by
    thetas_a: Floats  # (H, S, A): the chance of one more
    steps_b: NDArray[np.int64]  # (H, S, A): the same for j
    thetas_b: Floats  # (H, S, A)
    low_a: NDArray[np.int64]  # (H, S)
    high_a: NDArray[np.int64]  # (H, S)
    low_b: NDArray[np.int64]  # (H, S)
    high_b: NDArray[np.int64]  # (H, S)
    offsets: NDArray[np.int64]  # (H, S): where the window begins in ``actions``
    actions: NDArray[Any]

    def act(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float
    ) -> tuple[int, tuple[int, ...]]:
        """The action at ``step`` in ``state``, and the indices after it."""
        action = self._choice(step, state, memory)
        return action, self.follow(step, state, memory, uniform, action)

    def follow(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float, action: int
    ) -> tuple[int, ...]:
        """The indices after ``action``."""
        g, theta_a, j, theta_b = self._move(step, state, memory, action)
        up = uniform < theta_a
        # Rescaled after one comparison, the number is uniform again.
        rest = uniform / theta_a if up else (uniform - theta_a) / (1.0 - theta_a)
        return g + up, j + (rest < theta_b)

    def branches(
        self, step: int, state: int, memory: tuple[int, ...]
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """Every (probability, action, memory) that ``act`` can give."""
        action = self._choice(step, state, memory)
        g, theta_a, j, theta_b = self._move(step, state, memory, action)
        ways: list[tuple[float, int, tuple[int, ...]]] = []
        for up_a, chance_a in ((0, 1.0 - theta_a), (1, theta_a)):
            for up_b, chance_b in ((0, 1.0 - theta_b), (1, theta_b)):
                if chance_a * chance_b > 0.0:
                    ways.append((chance_a * chance_b, action, (g + up_a, j + up_b)))
        return ways

    def _choice(self, step: int, state: int, memory: tuple[int, ...]) -> int:
        g, j = memory or (0, 0)
        low_a, high_a = int(self.low_a[step, state]), int(self.high_a[step, state])
        low_b, high_b = int(self.low_b[step, state]), int(self.high_b[step, state])
        place = (min(max(g, low_a), high_a) - low_a) * (high_b - low_b + 1)
        place += min(max(j, low_b), high_b) - low_b
        return int(self.actions[self.offsets[step, state] + place])

    def _move(
        self, step: int, state: int, memory: tuple[int, ...], action: int
    ) -> tuple[int, float, int, float]:
        """The move of both indices: whole points and the chance of one more."""
        g, j = memory or (0, 0)
        at = (step, state, action)
        g, theta_a = g + int(self.steps_a[at]), float(self.thetas_a[at])
        j, theta_b = j + int(self.steps_b[at]), float(self.thetas_b[at])
        if j >= self.top:
            j, theta_b = self.top, 0.0
        return g, theta_a, j, theta_b

    def arrays(self) -> Arrays:
        """The policy as named arrays, for storage."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> RewardPolicy:
        """Restore a policy from its arrays."""
        rest = {name: array for name, array in arrays.items() if name != "top"}
        return cls(top=int(arrays["top"]), **rest)
