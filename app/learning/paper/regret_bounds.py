"""The paper's two regret bounds with all their constants, as inequalities of its appendix.

S states, A actions, H steps, d features, ||w*|| <= B, N episodes. Both theorems hold with
probability 1 - failure; the delta of the algorithm and of every formula here is failure / (6 N) for
Algorithm 1 and failure / (12 N) for Algorithm 3. Regret is never more than N: see
`informative_from`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from app.errors import InvalidValue
from app.learning.paper.confidence import ALGORITHM_3, beta, delta_of_bounds, kappa
from app.learning.paper.explorability import (
    condition_bound,
    euler_episodes,
    evaluation_episodes,
    exploration_bound,
    loop_bound,
)
from app.learning.spaces import Spaces


@dataclass(frozen=True)
class RegretSetting:
    """What both bounds depend on besides N."""

    spaces: Spaces
    dimension: int  # d
    bound: float  # B
    failure: float = 0.1  # the theorems' delta-bar

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise InvalidValue("dimension", "at least one feature")
        if not 0.0 < self.failure <= 1.0:
            raise InvalidValue("failure", "a probability above 0, at most 1")


@dataclass(frozen=True)
class Constants:
    """The absolute constants that the paper only says exist."""

    c1: float = 1.0
    c2: float = 1.0
    c3: float = 1.0


def optimism_regret(setting: RegretSetting, episodes: float) -> float:
    """The bound of Algorithm 1, inequality "full regret bound".

    With L = log(6 (S A H)^H (8 N H^2)^S log(N) / delta) and l = log(6 log(N) / delta):

        8 (2H+1) S A L + 8 (2H+1) sqrt(L S A N) + 4 H^2 sqrt(N l)
        + beta_N sqrt(8 N d max(kappa, 1) log(1 + N / (kappa d))) + 4 sqrt(N l) + 1
    """
    delta = delta_of_bounds(setting.failure, _number(episodes))
    return _transitions(setting, episodes, delta) + _labels(setting, episodes, delta)


def exploration_regret(
    setting: RegretSetting, episodes: float, omega: float, constants: Constants | None = None
) -> float:
    """The bound of Algorithm 3, inequality "full regret bound" with sum-decomposable bonuses.

    With g = log(1 + 16 N / (d omega^2)), N_exp = d g (N_EUL + N_EVAL) / log(3/2) and Psi_N the
    bound on the condition number after so many episodes, to Algorithm 1's bound with
    beta_N (1 + sqrt(H Psi_N)) for beta_N it adds

        C3 [d^2 log^2(d g) sqrt(log(N / delta)) / omega^4 + N_exp^(2/3)]^(3/2)
        + (20/3 log(1 / delta))^(3/2) + 4 N^(2/3)

    It says something of N > N_exp only; for fewer episodes it is refused.
    """
    constants = constants or Constants()
    delta = delta_of_bounds(setting.failure, _number(episodes), ALGORITHM_3)
    explored = exploration_episodes(setting, episodes, omega, constants)
    if explored + 1.0 >= episodes:
        raise InvalidValue("episodes", f"more than {explored:.6g}, which exploration may take")
    psi = condition_bound(setting.dimension, episodes, omega, episodes, explored)
    factor = 1.0 + math.sqrt(setting.spaces.horizon * psi)
    optimism = _transitions(setting, episodes, delta) + _labels(setting, episodes, delta, factor)
    first = controlled_from(setting, episodes, omega, constants)
    return first + coin_bound(episodes, delta) + optimism


def exploration_episodes(
    setting: RegretSetting, episodes: float, omega: float, constants: Constants | None = None
) -> float:
    """N_exp, the most episodes that Algorithm 2 takes with the lemma's N_EUL and N_EVAL."""
    constants = constants or Constants()
    d = setting.dimension
    delta = delta_of_bounds(setting.failure, _number(episodes), ALGORITHM_3)
    per_loop = euler_episodes(setting.spaces, d, episodes, omega, delta, constants.c1)
    per_loop += evaluation_episodes(d, episodes, omega, delta, constants.c2)
    return exploration_bound(d, episodes, omega, per_loop)


def _transitions(setting: RegretSetting, episodes: float, delta: float) -> float:
    """8 (2H+1) (S A L + sqrt(L S A N)) + 4 H^2 sqrt(N l) + 1: what not knowing P may cost."""
    S, A, H = setting.spaces.states, setting.spaces.actions, setting.spaces.horizon
    iterated = math.log(math.log(episodes)) - math.log(delta)
    L = math.log(6.0) + H * math.log(S * A * H) + S * math.log(8.0 * episodes * H**2) + iterated
    xi = 8.0 * (2 * H + 1) * (S * A * L + math.sqrt(L * S * A * episodes))
    return xi + martingale_bound(episodes, 2.0 * H**2, delta) + 1.0


def _labels(setting: RegretSetting, episodes: float, delta: float, factor: float = 1.0) -> float:
    """Factor beta_N sqrt(8 N d max(kappa, 1) log(1 + N / (kappa d))) + 4 sqrt(N l): w unknown."""
    d, k = setting.dimension, float(kappa(setting.bound))
    # N twice: the episode t = N of the radius, and the N episodes that it holds for.
    radius = float(beta(d, episodes, episodes, delta, setting.bound))
    widths = 2.0 * math.sqrt(k * episodes * potential_bound(d, k, episodes))
    return factor * radius * widths + martingale_bound(episodes, 2.0, delta)


def martingale_bound(rounds: float, size: float, delta: float) -> float:
    """2 zeta sqrt(T log(6 log(T) / delta)): bounds sums of T differences of size zeta at most.

    With probability 1 - delta the sum of a martingale difference sequence is below it for all
    T >= 2 at once (appendix, first technical lemma).
    """
    return 2.0 * size * math.sqrt(rounds * (math.log(6.0 * math.log(rounds)) - math.log(delta)))


def potential_bound(dimension: int, ridge: float, rounds: float) -> float:
    """2 d max(1, 1 / lambda) log(1 + T / (lambda d)): bounds the sum of ||x_t||^2_{Sigma_t^-1}.

    Sigma_t = lambda I + sum_{q<t} x_q x_q^T and ||x_t|| <= 1 (appendix, determinant lemma).
    """
    return 2.0 * dimension * max(1.0, 1.0 / ridge) * math.log1p(rounds / (ridge * dimension))


def coin_bound(episodes: float, delta: float) -> float:
    """(20/3 log(1 / delta))^(3/2) + 4 N^(2/3): bounds how often Algorithm 3 explores.

    With probability 1 - delta, for coins with probabilities t^(-1/3), t = 1..N (event E_4).
    """
    return float((20.0 / 3.0 * -math.log(delta)) ** 1.5 + 4.0 * episodes ** (2 / 3))


def controlled_from(
    setting: RegretSetting, episodes: float, omega: float, constants: Constants | None = None
) -> float:
    """t_0: the episodes after which the condition number of Sigma_t is under control.

    C3 [d^2 log^2(d g) sqrt(log(N / delta)) / omega^4 + N_exp^(2/3)]^(3/2)
    """
    constants = constants or Constants()
    delta = delta_of_bounds(setting.failure, _number(episodes), ALGORITHM_3)
    # d g, by the bound on the loops, which is d g / log(3/2).
    inner = loop_bound(setting.dimension, episodes, omega) * math.log(1.5)
    noise = (setting.dimension * math.log(inner)) ** 2 / omega**4
    explored = exploration_episodes(setting, episodes, omega, constants)
    inside = noise * math.sqrt(math.log(episodes) - math.log(delta)) + explored ** (2 / 3)
    return float(constants.c3 * inside**1.5)


def informative_from(bound: Callable[[float], float]) -> float | None:
    """The number of episodes, to one digit, from which a regret bound is below N itself.

    Fewer episodes cannot have more regret than N anyway. A bound that is refused for small N, or
    that is never below N up to 10^60, counts as uninformative there.
    """
    for power in range(1, 60):
        for digit in range(1, 10):
            episodes = digit * 10.0**power
            try:
                if bound(episodes) < episodes:
                    return episodes
            except InvalidValue:
                continue
    return None


def _number(episodes: float) -> float:
    if not (math.isfinite(episodes) and episodes >= 2):
        raise InvalidValue("episodes", "a number from 2")
    return episodes
