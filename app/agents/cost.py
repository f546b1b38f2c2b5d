"""The predicted cost of one learning job: fit, plan, and pack what was learned.

The constants were measured on one core of a server processor, where `python -m benchmarks.cost`
compares them with what jobs take. `slowness` says how much slower this machine is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

_PROBE_SECONDS = 0.0038  # that `_probe` takes on the machine where the constants were measured
_FASTEST, _SLOWEST = 0.5, 20.0  # what a probe may say; a wilder one was disturbed


@dataclass(frozen=True)
class Cost:
    """Seconds of a processor and bytes of memory."""

    seconds: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """The cost of both, one after the other: memory is held together."""
        return Cost(self.seconds + other.seconds, self.bytes + other.bytes)


def sweep_cost(pairs: float, actions: int, successors: float, points: float) -> float:
    """Seconds of one backward pass of the fast planner.

    ``pairs`` are steps x states, ``successors`` those of each state and action, and ``points``
    those of the whole grid.
    """
    cells = pairs * actions
    entries = cells * successors
    return 1e-7 * pairs + 6e-9 * cells + 8e-9 * entries + 5e-10 * points * actions * successors


def table_cost(pairs: float, actions: int) -> Cost:
    """The cost of packing an insight and two policies, and of the tables in memory."""
    cells = pairs * actions
    return Cost(1.2e-7 * cells + 7e-7 * pairs, 30.0 * cells + 80.0 * pairs)


def fit_cost(features: float) -> Cost:
    """The cost of fitting weights of so many features, and of factorising their posterior."""
    return Cost(5e-11 * features**3, 24.0 * features**2)


def reading_cost(steps: int) -> Cost:
    """The cost of reading the steps of new episodes and counting their transitions."""
    return Cost(1e-5 * steps, 200.0 * steps)


@cache
def slowness() -> float:
    """How many times longer this machine takes than the one of the constants; measured once."""
    return min(max(_probe() / _PROBE_SECONDS, _FASTEST), _SLOWEST)


def _probe() -> float:
    """The processor seconds of a running sum of scattered numbers, as planners compute them.

    The best of a few, in memory that is there already: other processes disturb.
    """
    rng = np.random.default_rng(0)
    numbers, places = rng.random(1_000_000), rng.integers(1_000_000, size=1_000_000)
    sums, seconds = np.zeros_like(numbers), []
    for _ in range(5):
        began = time.thread_time()
        np.take(numbers, places, out=sums, mode="wrap")
        np.add.accumulate(sums, out=sums)
        seconds.append(time.thread_time() - began)
    return min(seconds)
