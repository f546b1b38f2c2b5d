"""The policy of `reinforce`: a network turns the numbers that are seen into probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from app.errors import InvalidValue
from app.learning.arrays import Arrays, Floats
from app.learning.network.input_scaling import InputScaling
from app.learning.network.network import Activation, Layer, Network

_ACTIVATIONS: tuple[Activation, ...] = ("tanh", "relu")


@dataclass(frozen=True, eq=False)
class NetworkPolicy:
    """Draws an action from the softmax of a network's outputs; it remembers nothing.

    The inputs go through the layers: x W + b, then tanh or max(0, .) in all layers but the last.
    With l the outputs of the last layer, p_a = exp(l_a - max l) / sum_b exp(l_b - max l), and with
    u the number in [0, 1) that belongs to the step the action is the first a with
    u < p_0 + ... + p_a, added in this order (the last action if rounding leaves none).
    """

    kind: ClassVar[str] = "network"

    network: Network
    theta: Floats
    scaling: InputScaling

    def act(
        self,
        step: int,  # noqa: ARG002 - every policy takes it
        state: float | Sequence[float],
        memory: tuple[int, ...],
        uniform: float,
    ) -> tuple[int, tuple[int, ...]]:
        """An action in ``state``, the numbers seen (one number may come bare)."""
        bounds = np.cumsum(self._chances(state)[:-1])
        return int(np.searchsorted(bounds, uniform, side="right")), memory

    def follow(
        self,
        step: int,  # noqa: ARG002 - every policy takes them
        state: float | Sequence[float],  # noqa: ARG002
        memory: tuple[int, ...],
        uniform: float,  # noqa: ARG002
        action: int,  # noqa: ARG002
    ) -> tuple[int, ...]:
        """Nothing is remembered."""
        return memory

    def branches(
        self,
        step: int,  # noqa: ARG002
        state: float | Sequence[float],
        memory: tuple[int, ...],
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """Every action with its probability."""
        chances = self._chances(state).tolist()
        return [(chance, action, memory) for action, chance in enumerate(chances)]

    def _chances(self, state: float | Sequence[float]) -> Floats:
        seen = np.array(state, dtype=np.float64).reshape(1, -1)
        if seen.shape[1] != self.network.sizes[0]:
            raise InvalidValue("state", f"{self.network.sizes[0]} numbers")
        return np.asarray(self.probabilities(seen)[0])

    def probabilities(self, observations: Floats) -> Floats:
        """P(action | observation) for each row (n, k), shape (n, A)."""
        return np.exp(self.network.log_probabilities(self.theta, self.scaling(observations)))

    @cached_property
    def layers(self) -> list[Layer]:
        """The weights (in, out) and biases (out,) of each layer."""
        return self.network.layers(self.theta)

    def arrays(self) -> Arrays:
        """Everything the policy knows; layer i is ``weights.i`` and ``biases.i``."""
        layers = enumerate(self.layers)
        return {
            "activation": np.array(self.network.activation),
            "scaled": np.array(self.scaling.scaled),
            "low": self.scaling.low,
            "high": self.scaling.high,
        } | {
            key: part
            for i, (weights, biases) in layers
            for key, part in ((f"weights.{i}", weights), (f"biases.{i}", biases))
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> NetworkPolicy:
        """Restore a policy from its arrays."""
        count = sum(key.startswith("weights.") for key in arrays)
        parts = [arrays[f"{name}.{i}"] for i in range(count) for name in ("weights", "biases")]
        sizes = (len(arrays["low"]), *(len(biases) for biases in parts[1::2]))
        activation = _ACTIVATIONS[_ACTIVATIONS.index(arrays["activation"].item())]
        theta = np.concatenate([part.ravel() for part in parts])
        scaling = InputScaling(arrays["low"], arrays["high"], bool(arrays["scaled"]))
        return cls(Network(sizes, activation), theta, scaling)
