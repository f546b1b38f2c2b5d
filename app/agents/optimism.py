"""The optimism of an agent at one moment: the paper's quantities, for the model's document."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, fields
from typing import Any, Self

import numpy as np

from app.learning.arrays import Floats


@dataclass(frozen=True)
class Optimism:
    """How optimistic the agent is at episode t. None: its constants have no such quantity.

    The units are those of features scaled so that no trajectory has a norm above 1; ``scale`` is
    what the features are divided by.
    """

    episode: float  # t
    episodes: float  # N
    scale: float
    delta: float | None  # the failure probability of one bound
    kappa: float | None
    beta: float | None  # beta_t(delta)
    radius: float  # sqrt(kappa) beta_t, or the tuned radius: factor of every norm
    width: float  # the most that is added to the prediction of any episode for its weights
    value: float | None  # of the last optimistic plan, at the start
    condition_number: float | None  # of Sigma_t
    condition_bound: float | None  # what the lemma says of it
    sandwich: float | None  # bounds the sum of the steps' widths by the whole episode's
    regret_bound: float | None  # of the theorem, after N episodes
    informative_from: float | None  # the N from which the regret bound is below N

    def packed(self) -> Floats:
        """All fields as one vector; NaN stands for None."""
        return np.array([math.nan if number is None else number for number in astuple(self)])

    @classmethod
    def unpacked(cls, numbers: Floats) -> Self | None:
        """The fields that `packed` gave; None for an empty vector."""
        names = [field.name for field in fields(cls)]
        if len(numbers) != len(names):
            return None
        values: list[Any] = [None if math.isnan(number) else number for number in numbers.tolist()]
        return cls(**dict(zip(names, values, strict=True)))
