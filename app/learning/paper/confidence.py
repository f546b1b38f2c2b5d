"""The paper's confidence constants, to the letter (section on algorithms, and equation for xi).

B bounds ||w*||, d is the dimension, t the episode and N the number of episodes. ``delta`` is the
failure probability of one bound. A theorem that fails with probability delta-bar uses its bounds
with delta = delta-bar / (6 N) for Algorithm 1, delta-bar / (12 N) for Algorithm 3: see
`delta_of_bounds`. Every function takes numbers or arrays and broadcasts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from app.errors import InvalidValue
from app.learning.arrays import Floats

LARGEST_LOGIT = 700.0  # exp of more has no float
UNVISITED = 2.0  # the l1 distance of two distributions is never above 2
ALGORITHM_1, ALGORITHM_3 = 6, 12  # the theorems' shares of delta-bar: one part in 6 N or 12 N


def delta_of_bounds(failure: float, episodes: float, algorithm: int = ALGORITHM_1) -> float:
    """delta, the failure probability of each bound, from the theorem's delta-bar and N.

    The proof of Algorithm 1 adds up failures of at most 6 N delta, that of Algorithm 3 12 N delta.
    """
    return float(_probability(failure) / (algorithm * _at_least("episodes", episodes, 1)))


def kappa(bound: ArrayLike, norm: ArrayLike = 1.0) -> Floats:
    """The largest 1/mu'(w.phi) over ||w|| <= B and ||phi|| <= norm.

    It is exp(x) + 2 + exp(-x) with x = B norm. The paper's "kappa <= exp(B)"
    drops the two last terms; this is the maximum itself.
    """
    logit = np.asarray(bound, dtype=np.float64) * np.asarray(norm, dtype=np.float64)
    if not ((logit >= 0) & (logit <= LARGEST_LOGIT)).all():
        raise InvalidValue("bound", f"a bound B with B * norm from 0 to {LARGEST_LOGIT:g}")
    return np.asarray(np.exp(logit) + 2.0 + np.exp(-logit))


def rho(dimension: ArrayLike, episode: ArrayLike, episodes: ArrayLike, delta: ArrayLike) -> Floats:
    """rho_t(delta) = d log(4 + 4 t / d) + 2 log(N / delta) + 1/2."""
    d, t = _at_least("dimension", dimension, 1), _at_least("episode", episode, 0)
    N = _at_least("episodes", episodes, 1)
    return d * np.log(4.0 + 4.0 * t / d) + 2.0 * (np.log(N) - np.log(_probability(delta))) + 0.5


def beta(
    dimension: ArrayLike,
    episode: ArrayLike,
    episodes: ArrayLike,
    delta: ArrayLike,
    bound: ArrayLike,
) -> Floats:
    """beta_t(delta) = (1 + B + rho_t (sqrt(1 + B) + rho_t))^(3/2)."""
    B = _at_least("bound", bound, 0)
    radius = rho(dimension, episode, episodes, delta)
    return np.asarray((1.0 + B + radius * (np.sqrt(1.0 + B) + radius)) ** 1.5)


def xi(
    visits: ArrayLike, states: int, actions: int, horizon: int, episodes: int, delta: float
) -> Floats:
    """The bonus min{2, 4 sqrt(L / N(s,a))} for the visits N(s,a), in their shape; 2 without any.

    The visits that count are those whose successor is known, since P_hat rests on them alone.

    L = log 6 + H log(S A H) + S log(8 N H^2) + log log N(s,a) - log delta, a sum of logarithms
    because the product inside the paper's logarithm overflows.

    log log N(s,a) has no value at 1 visit, where that of 2 visits is taken. The choice changes no
    bonus: L >= log 6 + log 8 + log log 2 > 3.5, and the minimum is 2 wherever L >= N(s,a) / 4, so
    up to 14 visits every bonus is 2 by any guard.
    """
    counts = _at_least("visits", visits, 0)
    S, A, H = (
        float(_at_least(field, value, 1))
        for field, value in (("states", states), ("actions", actions), ("horizon", horizon))
    )
    N = float(_at_least("episodes", episodes, 1))
    fixed = np.log(6.0) + H * np.log(S * A * H) + S * np.log(8.0 * N * H**2)
    iterated = np.log(np.log(np.maximum(counts, 2.0)))
    L = fixed + iterated - np.log(_probability(delta))
    visited = np.minimum(UNVISITED, 4.0 * np.sqrt(L / np.maximum(counts, 1.0)))
    return np.where(counts > 0, visited, UNVISITED)


def _at_least(field: str, value: ArrayLike, least: int) -> Floats:
    numbers = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(numbers) & (numbers >= least)).all():
        raise InvalidValue(field, f"finite numbers from {least}")
    return numbers


def _probability(delta: ArrayLike) -> Floats:
    numbers = np.asarray(delta, dtype=np.float64)
    if not ((numbers > 0) & (numbers <= 1)).all():
        raise InvalidValue("delta", "a probability above 0, at most 1")
    return numbers
