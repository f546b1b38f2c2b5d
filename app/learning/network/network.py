"""A fully connected network whose outputs are the logits of a softmax over actions.

All parameters lie in one flat vector theta: layer by layer, the weights W (in, out) row by row and
then the biases b (out,). Hidden layers are tanh or ReLU, the last layer is linear, and
pi_theta(a | x) = softmax(logits(x))_a.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from app.errors import InvalidValue
from app.learning.arrays import Booleans, Floats, Integers

Activation = Literal["tanh", "relu"]
Layer = tuple[Floats, Floats]  # W (in, out) and b (out,)

_GAINS = {"tanh": 1.0, "relu": 2.0}  # variance of a weight times its inputs; relu: He et al.


@dataclass(frozen=True)
class Network:
    """The shape of a network: the layers that the flat vector theta holds."""

    sizes: tuple[int, ...]  # inputs, hidden widths, actions
    activation: Activation

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) < 1:
            raise InvalidValue("sizes", "inputs and outputs, at least one of each")
        if self.activation not in _GAINS:
            raise InvalidValue("activation", f"one of {', '.join(_GAINS)}")

    @cached_property
    def parameters(self) -> int:
        """The length of theta."""
        return sum((before + 1) * after for before, after in pairwise(self.sizes))

    def initial(self, rng: np.random.Generator, output_scale: float) -> Floats:
        """Normal weights of variance gain / inputs, no biases; the last layer times its scale.

        A small last layer makes the first policy nearly uniform.
        """
        theta = np.zeros(self.parameters)
        for weights, _ in self.layers(theta):
            deviation = np.sqrt(_GAINS[self.activation] / len(weights))
            weights[:] = rng.normal(scale=deviation, size=weights.shape)
        self.layers(theta)[-1][0][:] *= output_scale
        return theta

    def layers(self, theta: Floats) -> list[Layer]:
        """The weights and biases of each layer, as views into theta."""
        if theta.shape != (self.parameters,):
            raise InvalidValue("theta", f"{self.parameters} parameters")
        layers, start = [], 0
        for before, after in pairwise(self.sizes):
            middle, end = start + before * after, start + (before + 1) * after
            layers.append((theta[start:middle].reshape(before, after), theta[middle:end]))
            start = end
        return layers

    def log_probabilities(self, theta: Floats, inputs: Floats) -> Floats:
        """log pi(a | x) for each row of inputs (n, k), shape (n, A)."""
        return self._forward(self.layers(theta), inputs)[1]

    def gradient(
        self,
        theta: Floats,
        inputs: Floats,
        actions: Integers,
        factors: Floats,
        allowed: Booleans | None = None,
    ) -> Floats:
        """The gradient of sum_n c_n log pi(a_n | x_n), with factors c of shape (n,).

        With ``allowed`` (n, A) it is that of log pi(a_n | x_n, a_n is allowed).
        """
        layers = self.layers(theta)
        values, logs = self._forward(layers, inputs)
        if allowed is not None:
            logs = np.where(allowed, logs, -np.inf)
            logs = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
        rows = np.arange(len(actions))
        back = -np.exp(logs) * factors[:, None]  # of the logits: c (1[a] - pi)
        back[rows, actions] += factors
        gradient = np.empty_like(theta)
        views = self.layers(gradient)
        for index in reversed(range(len(layers))):
            np.matmul(values[index].T, back, out=views[index][0])
            np.sum(back, axis=0, out=views[index][1])
            if index:
                back = (back @ layers[index][0].T) * self._slope(values[index])
        return gradient

    def _forward(self, layers: list[Layer], inputs: Floats) -> tuple[list[Floats], Floats]:
        """The inputs of each layer, and the log-probabilities."""
        values = [inputs]
        for weights, biases in layers[:-1]:
            before = values[-1] @ weights + biases
            after = np.tanh(before) if self.activation == "tanh" else np.maximum(before, 0.0)
            values.append(after)
        weights, biases = layers[-1]
        logits = values[-1] @ weights + biases
        logits -= logits.max(axis=1, keepdims=True)
        return values, logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def _slope(self, values: Floats) -> Floats:
        """The derivative of the activation, from its output."""
        if self.activation == "tanh":
            return np.asarray(1.0 - values * values)
        return (values > 0.0).astype(np.float64)
