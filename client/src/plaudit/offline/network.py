"""The policy of `reinforce`: a small network gives the probability of each action."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, tanh
from typing import Any

_FAR = 4.5  # ranges beyond its bounds at which a number is held


class Network:
    """Draws an action from the softmax of a network's outputs. It has no memory."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._bounds = list(zip(document["low"], document["high"], strict=True))
        self._scaled: bool = document["scaled"]
        self._bend: Callable[[float], float] = (
            tanh if document["activation"] == "tanh" else lambda z: max(0.0, z)
        )
        count = sum(name.startswith("weights.") for name in document)
        self._layers = [
            (list(zip(*document[f"weights.{i}"], strict=True)), document[f"biases.{i}"])
            for i in range(count)
        ]

    def act(
        self, step: int, state: Sequence[float], memory: None, u: float, done: int | None = None
    ) -> tuple[int, None]:
        """The first action whose summed probability is beyond u."""
        if done is not None:
            return done, memory
        chances = self.chances(state)
        total = 0.0
        for action, chance in enumerate(chances):
            total += chance
            if u < total:
                return action, memory
        return len(chances) - 1, memory

    def chances(self, state: Sequence[float]) -> list[float]:
        """The probability of each action."""
        outputs = self._outputs(
            [self._input(*part) for part in zip(state, self._bounds, strict=True)]
        )
        most = max(outputs)
        weights = [exp(output - most) for output in outputs]
        whole = sum(weights)
        return [weight / whole for weight in weights]

    def _input(self, value: float, bounds: tuple[float, float]) -> float:
        low, high = bounds
        far = _FAR * (high - low)
        value = min(max(value, low - far), high + far)
        return 2 * (value - low) / (high - low) - 1 if self._scaled else value

    def _outputs(self, x: list[float]) -> list[float]:
        for i, (columns, biases) in enumerate(self._layers):
            x = [
                sum(a * b for a, b in zip(x, column, strict=True)) + bias
                for column, bias in zip(columns, biases, strict=True)
            ]
            if i < len(self._layers) - 1:
                x = [self._bend(z) for z in x]
        return x
