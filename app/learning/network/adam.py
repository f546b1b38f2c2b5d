"""The optimiser Adam (Kingma and Ba 2015), as a function from state to state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.learning.arrays import Floats

DECAY_MEAN, DECAY_SQUARE, EPSILON = 0.9, 0.999, 1e-8  # the paper's defaults
LARGEST = 1e6  # weights are held within this size, so that products of layers cannot overflow


@dataclass(frozen=True)
class Adam:
    """Parameters theta with the running moments of their gradient; immutable."""

    theta: Floats  # (p,)
    mean: Floats  # (p,): decayed mean of the gradients
    square: Floats  # (p,): decayed mean of their squares
    steps: int = 0

    @classmethod
    def at(cls, theta: Floats) -> Adam:
        """The initial state: no gradient seen yet."""
        return cls(theta, np.zeros_like(theta), np.zeros_like(theta))

    def climb(self, gradient: Floats, step_size: float) -> Adam:
        """One step up the gradient: theta + step m_hat / (sqrt(v_hat) + epsilon)."""
        steps = self.steps + 1
        mean = DECAY_MEAN * self.mean + (1.0 - DECAY_MEAN) * gradient
        square = DECAY_SQUARE * self.square + (1.0 - DECAY_SQUARE) * gradient**2
        unbiased = mean / (1.0 - DECAY_MEAN**steps)
        deviation = np.sqrt(square / (1.0 - DECAY_SQUARE**steps))
        theta = self.theta + step_size * unbiased / (deviation + EPSILON)
        return Adam(np.clip(theta, -LARGEST, LARGEST), mean, square, steps)
