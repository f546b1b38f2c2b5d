"""The paper's constants against the same formulas in fifty decimal digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from app.errors import InvalidValue
from app.learning.paper.confidence import (
    ALGORITHM_1,
    ALGORITHM_3,
    beta,
    delta_of_bounds,
    kappa,
    rho,
    xi,
)


def exact_rho(d: int, t: int, N: int, delta: str) -> Decimal:
    inner = 4 + Decimal(4 * t) / d
    return d * inner.ln() + 2 * (Decimal(N) / Decimal(delta)).ln() + Decimal("0.5")


def exact_xi(n: int, S: int, A: int, H: int, N: int, delta: str) -> Decimal:
    """The formula as printed, product and all; Decimal has exponents enough."""
    product = 6 * Decimal(S * A * H) ** H * Decimal(8 * N * H**2) ** S * Decimal(n).ln()
    return min(Decimal(2), 4 * ((product / Decimal(delta)).ln() / n).sqrt())


@pytest.mark.parametrize("bound", ["0", "0.5", "1", "4", "30", "700"])
def test_kappa(bound: str) -> None:
    with localcontext() as context:
        context.prec = 50
        exact = Decimal(bound).exp() + 2 + (-Decimal(bound)).exp()
    assert kappa(float(bound)) == pytest.approx(float(exact), rel=1e-14)
    assert kappa(float(bound) / 4, norm=4.0) == pytest.approx(float(exact), rel=1e-14)


def test_kappa_is_the_largest_inverse_slope() -> None:
    logits = np.linspace(-1.5, 1.5, 301)
    slopes = np.exp(-logits) / (1 + np.exp(-logits)) ** 2
    assert kappa(1.5) == pytest.approx((1 / slopes).max(), rel=1e-12)


CASES = [
    (1, 0, 1, "1"),
    (7, 3, 1000, "0.05"),
    (300, 250, 10_000, "0.1"),
    (18_000, 10**6, 10**9, "1e-300"),
]


@pytest.mark.parametrize(("d", "t", "N", "delta"), CASES)
@pytest.mark.parametrize("bound", ["0", "1", "3.25"])
def test_rho_and_beta(d: int, t: int, N: int, delta: str, bound: str) -> None:
    with localcontext() as context:
        context.prec = 50
        radius = exact_rho(d, t, N, delta)
        inner = 1 + Decimal(bound) + radius * ((1 + Decimal(bound)).sqrt() + radius)
        width = inner * inner.sqrt()
    assert rho(d, t, N, float(delta)) == pytest.approx(float(radius), rel=1e-13)
    found = beta(d, t, N, float(delta), float(bound))
    assert found == pytest.approx(float(width), rel=1e-13)


def test_numbers_worked_out_by_hand() -> None:
    # d = 1, t = 0, N = delta = 1, B = 0: rho = log 4 + 1/2 = 1.886294..., and
    # beta = (1 + rho (1 + rho))^(3/2) = 6.4444008 * 2.5385824 = 16.35964
    assert rho(1, 0, 1, 1.0) == pytest.approx(1.8862943611198906, rel=1e-15)
    assert beta(1, 0, 1, 1.0, 0.0) == pytest.approx(16.35964, abs=1e-5)
    assert kappa(0.0) == 4.0


SIZES = [
    (2, 2, 3, 100, "0.05"),
    (1, 1, 1, 1, "1"),
    (64, 4, 100, 10_000, "0.01"),
    (500, 6, 200, 10**6, "1e-9"),  # the product is beyond 1e7000
]


@pytest.mark.parametrize(("S", "A", "H", "N", "delta"), SIZES)
def test_xi(S: int, A: int, H: int, N: int, delta: str) -> None:
    visits = np.array([2, 3, 14, 15, 20, 1000, 10**5, 10**7, 10**12])
    with localcontext() as context:
        context.prec = 50
        exact = [float(exact_xi(int(n), S, A, H, N, delta)) for n in visits]
    found = xi(visits, S, A, H, N, float(delta))
    np.testing.assert_allclose(found, exact, rtol=1e-13)
    assert found.min() < 2.0


def test_xi_where_the_formula_has_no_value() -> None:
    np.testing.assert_array_equal(xi(np.zeros((2, 3)), 2, 3, 4, 10, 0.1), np.full((2, 3), 2.0))
    # The smallest L there is: any guard between log log 2 and larger leaves 2 at few visits.
    np.testing.assert_array_equal(xi(np.arange(15), 1, 1, 1, 1, 1.0), np.full(15, 2.0))


def test_xi_never_grows_with_visits() -> None:
    assert (np.diff(xi(np.arange(20_000), 3, 2, 5, 50, 0.2)) <= 0).all()


def test_delta_is_split_as_in_the_proofs() -> None:
    assert delta_of_bounds(0.3, 50) == pytest.approx(0.3 / 300, rel=1e-15)
    assert delta_of_bounds(0.3, 1, ALGORITHM_1) == pytest.approx(0.05, rel=1e-15)
    assert delta_of_bounds(0.3, 50, ALGORITHM_3) == pytest.approx(0.3 / 600, rel=1e-15)


def test_they_broadcast() -> None:
    assert kappa([0.0, 1.0]).shape == (2,)
    assert rho(3, np.arange(5), 10, 0.1).shape == (5,)
    assert beta(3, np.arange(5)[:, None], 10, 0.1, [0.0, 1.0]).shape == (5, 2)
    assert xi(np.ones((4, 2)), 4, 2, 3, 10, 0.1).shape == (4, 2)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: kappa(-1.0), "bound"),
        (lambda: kappa(701.0), "bound"),
        (lambda: kappa(np.nan), "bound"),
        (lambda: kappa([1.0, -1.0]), "bound"),
        (lambda: delta_of_bounds(0.1, 0.5), "episodes"),
        (lambda: rho(1, [1, -1], 10, 0.1), "episode"),
        (lambda: rho(1, 1, 10, [0.1, 1.1]), "delta"),
        (lambda: rho(0, 1, 10, 0.1), "dimension"),
        (lambda: rho(1, -1, 10, 0.1), "episode"),
        (lambda: rho(1, 1, 0, 0.1), "episodes"),
        (lambda: rho(1, 1, 10, 0.0), "delta"),
        (lambda: beta(1, 1, 10, 1.1, 1.0), "delta"),
        (lambda: beta(1, 1, 10, 0.1, -1.0), "bound"),
        (lambda: xi([-1], 1, 1, 1, 1, 0.1), "visits"),
        (lambda: xi([1], 0, 1, 1, 1, 0.1), "states"),
        (lambda: xi([1], 1, 0, 1, 1, 0.1), "actions"),
        (lambda: xi([1], 1, 1, 0, 1, 0.1), "horizon"),
        (lambda: xi([1], 1, 1, 1, 0, 0.1), "episodes"),
        (lambda: xi([1], 1, 1, 1, 1, np.nan), "delta"),
    ],
)
def test_what_has_no_meaning_is_refused(call: Any, field: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        call()
    assert caught.value.field == field
