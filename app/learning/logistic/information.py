"""The information gain of a label: how much it would tell about the weights."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy

from app.learning.arrays import Floats

# Evenly spaced nodes are exact to rounding up to deviations of 20; Gauss-Hermite nodes are not.
_NODES = np.linspace(-8.0, 8.0, 257)
_WEIGHTS = np.exp(-0.5 * _NODES**2)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def label_information(mean: Floats, deviation: Floats) -> Floats:
    """H(E[p]) - E[H(p)] in nats with p = mu(x), x ~ N(mean, deviation^2), shape (n,).

    The mutual information of the label and the weights: zero where the model is sure of its
    probability, even of one half, and large where it is not.
    """
    logits = mean[:, None] + deviation[:, None] * _NODES
    chances = expit(logits)
    expected = chances @ _WEIGHTS
    gained: Floats = _entropy(expected) - _entropy(chances) @ _WEIGHTS
    return np.maximum(gained, 0.0)


def _entropy(chance: Floats) -> Floats:
    return np.asarray(-xlogy(chance, chance) - xlogy(1.0 - chance, 1.0 - chance))
