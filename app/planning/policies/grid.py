"""The policy of the grid planners: an action table over (step, state, accumulated logit)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.learning.arrays import Arrays, Floats
from app.planning.rows import shift

_shift = shift.py_func  # the same arithmetic, without the cost of entering compiled code


@dataclass(frozen=True)
class GridPolicy:
    """Acts from the index g of the accumulated logit g * delta, which it tracks itself.

    At step h in state s it looks up the action at g, clipped to the row's window, and then moves g
    by w_h(s, a) / delta, rounded up with the probability of its fraction and down otherwise, so
    that the index is unbiased. Rows lie one after the other in ``actions``.
    """

    kind: ClassVar[str] = "grid"

    delta: float
    clip: tuple[int, int]
    low: NDArray[np.int32]  # (H, S)
    high: NDArray[np.int32]  # (H, S)
    offsets: NDArray[np.int64]  # (H, S): where the row begins in ``actions``
    actions: NDArray[np.unsignedinteger[Any]]
    weights: Floats  # (H, S, A)

    def act(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float
    ) -> tuple[int, tuple[int, ...]]:
        """The action at ``step`` in ``state``, and the index after it."""
        action, index, theta = self._move(step, state, memory)
        return action, (self._held(index + 1 if uniform < theta else index),)

    def follow(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float, action: int
    ) -> tuple[int, ...]:
        """The index after ``action``."""
        index = memory[0] if memory else 0
        whole, theta = _shift(self.weights.item(step, state, action), self.delta)
        return (self._held(index + whole + (uniform < theta)),)

    def branches(
        self, step: int, state: int, memory: tuple[int, ...]
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """Every (probability, action, memory) that ``act`` can give."""
        action, index, theta = self._move(step, state, memory)
        ways = [(1.0 - theta, self._held(index)), (theta, self._held(index + 1))]
        return [(chance, action, (after,)) for chance, after in ways if chance > 0.0]

    def _move(self, step: int, state: int, memory: tuple[int, ...]) -> tuple[int, int, float]:
        index = memory[0] if memory else 0
        low, high = self.low.item(step, state), self.high.item(step, state)
        within = low if index < low else min(index, high)
        action = self.actions.item(self.offsets.item(step, state) + within - low)
        whole, theta = _shift(self.weights.item(step, state, action), self.delta)
        return action, index + whole, theta

    def _held(self, index: int) -> int:
        low, high = self.clip
        return low if index < low else min(index, high)

    def arrays(self) -> Arrays:
        """The policy as named arrays, for storage."""
        return {
            "delta": np.array(self.delta),
            "clip": np.array(self.clip),
            "low": self.low,
            "high": self.high,
            "offsets": self.offsets,
            "actions": self.actions,
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> GridPolicy:
        """Restore a policy from its arrays."""
        low, high = (int(bound) for bound in arrays["clip"])
        rest = {key: arrays[key] for key in ("low", "high", "offsets", "actions", "weights")}
        return cls(delta=float(arrays["delta"]), clip=(low, high), **rest)
