"""The theorems' bounds against the same inequalities in fifty decimal digits, term by term."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest

from app.errors import InvalidValue
from app.learning.paper import regret_bounds
from app.learning.paper.regret_bounds import (
    Constants,
    RegretSetting,
    coin_bound,
    controlled_from,
    exploration_episodes,
    exploration_regret,
    informative_from,
    martingale_bound,
    optimism_regret,
    potential_bound,
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


@pytest.mark.parametrize(("N", "delta"), [(10, "0.2"), (5000, "1e-9")])
def test_the_bound_on_the_coins(N, delta):
    with localcontext() as context:
        context.prec = 50
        first = power(Decimal(20) / 3 * (1 / Decimal(delta)).ln(), Decimal("1.5"))
        expected = first + 4 * power(Decimal(N), Decimal(2) / 3)
    assert coin_bound(N, float(delta)) == pytest.approx(float(expected), rel=1e-13)


def test_the_bound_on_martingales():
    with localcontext() as context:
        context.prec = 50
        inside = (6 * Decimal(70).ln() / Decimal("0.03")).ln()
        expected = 2 * 3 * (70 * inside).sqrt()
    assert martingale_bound(70.0, 3.0, 0.03) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("ridge", ["0.25", "1", "30"])
def test_the_bound_of_the_determinant_lemma(ridge):
    with localcontext() as context:
        context.prec = 50
        least = max(Decimal(1), 1 / Decimal(ridge))
        expected = 2 * 3 * least * (1 + Decimal(40) / (3 * Decimal(ridge))).ln()
    assert potential_bound(3, float(ridge), 40) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("constants", [(1, 1, 1), (1e-9, 1e-9, 5)])
def test_from_when_on_the_condition_number_is_controlled(constants):
    """With few episodes of exploration, so that the other term shows."""
    S, A, H, d, N, omega = 3, 2, 4, 6, 5000, Decimal("0.3")
    setting, known = RegretSetting(Spaces(S, A, H), d, 2.0, 0.1), Constants(*map(float, constants))
    explored = Decimal(exploration_episodes(setting, N, 0.3, known))
    with localcontext() as context:
        context.prec = 50
        delta = Decimal("0.1") / (12 * N)
        g = (1 + 16 * N / (d * omega**2)).ln()
        noise = d**2 * (d * g).ln() ** 2 / omega**4 * (N / delta).ln().sqrt()
        inside = noise + power(explored, Decimal(2) / 3)
        expected = constants[2] * power(inside, Decimal("1.5"))
    assert controlled_from(setting, N, 0.3, known) == pytest.approx(float(expected), rel=1e-11)


def test_the_terms_of_algorithm_3_add_up(monkeypatch):
    setting = RegretSetting(Spaces(2, 2, 2), 2, 1.0)
    before = exploration_regret(setting, 1e20, 0.5)
    monkeypatch.setattr(regret_bounds, "coin_bound", lambda *_: 1e40)
    assert exploration_regret(setting, 1e20, 0.5) == pytest.approx(1e40)
    monkeypatch.setattr(regret_bounds, "controlled_from", lambda *_: 1e60)
    assert exploration_regret(setting, 1e20, 0.5) == pytest.approx(1e60)
    assert before < 1e40


@pytest.mark.parametrize(("explored", "refused"), [(98.7, False), (99.0, True), (99.5, True)])
def test_exploration_must_leave_an_episode(monkeypatch, explored, refused):
    setting = RegretSetting(Spaces(2, 2, 2), 2, 1.0)
    monkeypatch.setattr(regret_bounds, "exploration_episodes", lambda *_: explored)
    if refused:
        with pytest.raises(InvalidValue, match="episodes"):
            exploration_regret(setting, 100.0, 0.5)
    else:
        assert exploration_regret(setting, 100.0, 0.5) > 0.0


@pytest.mark.parametrize(
    ("level", "first"),
    [
        (5.0, 10.0),
        (15.0, 20.0),
        (50.0, 60.0),
        (95.0, 100.0),
        (1234.0, 2000.0),
        (8.5e59, 9e59),
        (9.5e59, None),
    ],
)
def test_from_when_on_a_bound_says_something(level, first):
    """The first of 10, 20, ..., 90, 100, 200, ... that is above the bound."""
    found = informative_from(lambda _: level)
    assert found == (None if first is None else pytest.approx(first))


def test_a_bound_that_is_refused_says_nothing():
    def bound(episodes):
        if episodes < 350:
            raise InvalidValue("episodes", "more")
        return 0.0

    assert informative_from(bound) == 400.0


def test_defaults():
    assert RegretSetting(Spaces(2, 2, 2), 2, 1.0).failure == 0.1
    assert Constants() == Constants(1.0, 1.0, 1.0)


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


@pytest.mark.parametrize(("field", "value"), [("dimension", 0), ("failure", 0.0), ("failure", 1.2)])
def test_a_setting_that_is_none(field, value):
    given = {"spaces": Spaces(2, 2, 2), "dimension": 2, "bound": 1.0, field: value}
    with pytest.raises(InvalidValue, match=field):
        RegretSetting(**given)
