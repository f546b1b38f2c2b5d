"""Confidence sequences: bounds on a success rate that hold at all times together.

For y_1, y_2, … in {0, 1} let p_i be the probability of y_i = 1 given the past, and p the mean of
p_1 … p_n. For any fixed lambda the process

    exp(lambda (y_1 + … + y_n) - n log(1 - p + p e^lambda))

is at most a martingale of mean 1, because log(1 - p + p e^lambda) is concave in p. So is its
average over fixed lambdas, and by Ville's inequality it ever exceeds 1 / delta with a probability
of at most delta. The p for which it does not are a confidence set of the mean success of what was
played so far. Nothing else is assumed: no model, no fixed sample size, no constant policy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

_LAMBDAS = tuple(math.pow(2.0, k / 2) for k in range(-12, 5))  # 1/64 to 4
_HALVINGS = 40  # of the interval that a bound is looked for in


@dataclass(frozen=True, slots=True)
class SuccessBounds:
    """A two-sided interval, and the one-sided lower bound ``at_least``, each with 1 - delta."""

    low: float
    high: float
    at_least: float


@lru_cache(maxsize=10_000)
def success_bounds(good: int, total: int, delta: float = 0.05) -> SuccessBounds:
    """Bounds on the mean success behind ``good`` of ``total`` results, valid at all times."""
    return SuccessBounds(
        low=_lower(good, total, delta / 2),
        high=1.0 - _lower(total - good, total, delta / 2),
        at_least=_lower(good, total, delta),
    )


def _lower(good: int, total: int, delta: float) -> float:
    """The smallest p that the mixture over positive lambdas does not exclude."""
    low, high = 0.0, good / total if total else 0.0
    limit = math.log(len(_LAMBDAS) / delta)
    if _log_sum(good, total, low) < limit:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _log_sum(good, total, middle) < limit:
            high = middle
        else:
            low = middle
    return low


def _log_sum(good: int, total: int, p: float) -> float:
    """The log of the sum of the processes of all lambdas; it falls with p."""
    terms = [x * good - total * math.log1p(p * math.expm1(x)) for x in _LAMBDAS]
    largest = max(terms)
    return largest + math.log(sum(math.exp(term - largest) for term in terms))
