"""The theorems' bounds against the same inequalities in fifty decimal digits, term by term."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest

from app.errors import InvalidValue
from app.learning.paper.regret_bounds import (
    Constants,
    RegretSetting,
    exploration_episodes,
    exploration_regret,
    optimism_regret,
)
from app.learning.spaces import Spaces

CASES = [
    (1, 2, 1, 1, "0.5", 2, "1"),
    (3, 2, 4, 6, "2", 5000, "0.1"),
    (4, 2, 5, 40, "9", 10**6, "0.05"),
    (10, 4, 30, 3, "1", 10**12, "0.01"),
]


def power(x, y):
    return (Decimal(y) * x.ln()).exp()


def common(S, A, H, d, B, N, delta, factor=Decimal(1)):
    """The terms that both printed inequalities end with."""
    N, B = Decimal(N), Decimal(B)
    kappa = B.exp() + 2 + (-B).exp()
    rho = d * (4 + 4 * N / d).ln() + 2 * (N / delta).ln() + Decimal("0.5")
    beta = power(1 + B + rho * ((1 + B).sqrt() + rho), Decimal("1.5"))
    product = 6 * Decimal(S * A * H) ** H * (8 * N * H**2) ** S * N.ln() / delta
    L, small = product.ln(), (6 * N.ln() / delta).ln()
    total = 8 * (2 * H + 1) * S * A * L
    total += 8 * (2 * H + 1) * (L * S * A * N).sqrt()
    total += 4 * H**2 * (N * small).sqrt()
    total += (
        beta * factor * (8 * N * d * max(kappa, Decimal(1)) * (1 + N / (kappa * d)).ln()).sqrt()
    )
    total += 4 * (N * small).sqrt()
    return total + 1


@pytest.mark.parametrize(("S", "A", "H", "d", "B", "N", "failure"), CASES)
def test_algorithm_1(S, A, H, d, B, N, failure):
    with localcontext() as context:
        context.prec = 50
        expected = common(S, A, H, d, B, N, Decimal(failure) / (6 * N))
    setting = RegretSetting(Spaces(S, A, H), d, float(B), float(failure))
    assert optimism_regret(setting, N) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("N", [10**16, 10**20])
@pytest.mark.parametrize("constants", [(1, 1, 1), (2, 3, 5)])
def test_algorithm_3(N, constants):
    S, A, H, d, B, failure = 3, 2, 4, 6, "2", "0.1"
    c1, c2, c3 = constants
    with localcontext() as context:
        context.prec = 50
        omega, n, growth = Decimal("0.3"), Decimal(N), Decimal("1.5").ln()
        delta = Decimal(failure) / (12 * n)
        g = (1 + 16 * n / (d * omega**2)).ln()
        n_euler = c1 * S**2 * A * H**2 * (S * A * n**2 * d / (delta * omega**2)).ln() / omega**2
        n_eval = c2 * d**3 * (n * d**2 / (delta * omega**2)).ln() ** 3 / omega**4
        n_euler, n_eval = int(n_euler) + 1, int(n_eval) + 1
        explored = d * g / growth * (n_euler + n_eval)
        third = Decimal(1) / 3
        psi = 128 * d * (d * g).ln() / (3 * growth * omega**2)
        psi *= (n - explored) / (power(n, 2 * third) - power(explored + 1, 2 * third))
        expected = common(S, A, H, d, B, N, delta, 1 + (H * psi).sqrt())
        noise = d**2 * (d * g).ln() ** 2 / omega**4 * (n / delta).ln().sqrt()
        expected += c3 * power(noise + power(explored, 2 * third), Decimal("1.5"))
        expected += power(Decimal(20) / 3 * (1 / delta).ln(), Decimal("1.5"))
        expected += 4 * power(n, 2 * third)
    setting = RegretSetting(Spaces(S, A, H), d, float(B), float(failure))
    known = Constants(*map(float, constants))
    found = exploration_episodes(setting, N, 0.3, known)
    assert found == pytest.approx(float(explored), rel=1e-12)
    assert exploration_regret(setting, N, 0.3, known) == pytest.approx(float(expected), rel=1e-11)


def test_the_rates_are_those_of_the_theorems():
    """Up to logarithms the bounds grow as N^(1/2) and N^(2/3)."""
    setting = RegretSetting(Spaces(2, 2, 2), 2, 1.0)
    far, farther = 1e120, 1e126
    first = optimism_regret(setting, farther) / optimism_regret(setting, far)
    second = exploration_regret(setting, farther, 0.5) / exploration_regret(setting, far, 0.5)
    assert 1e3 < first < 1.5e3
    assert 1e4 < second < 1.5e4


def test_few_episodes_are_not_enough_to_explore():
    setting = RegretSetting(Spaces(2, 2, 2), 2, 1.0)
    with pytest.raises(InvalidValue, match="episodes"):
        exploration_regret(setting, 1e5, 0.5)


@pytest.mark.parametrize("episodes", [0, 1, float("inf"), float("nan")])
def test_a_number_of_episodes_that_is_none(episodes):
    with pytest.raises(InvalidValue, match="episodes"):
        optimism_regret(RegretSetting(Spaces(2, 2, 2), 2, 1.0), episodes)


@pytest.mark.parametrize(("field", "value"), [("dimension", 0), ("failure", 0.0), ("failure", 2.0)])
def test_a_setting_that_is_none(field, value):
    given = {"spaces": Spaces(2, 2, 2), "dimension": 2, "bound": 1.0, field: value}
    with pytest.raises(InvalidValue, match=field):
        RegretSetting(**given)
