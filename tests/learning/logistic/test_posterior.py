"""The Gaussian against explicit inverses, its two roads against each other, and its samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse, stats

import app.learning.logistic.posterior as posterior_module
from app.errors import BudgetExceeded, InvalidValue
from app.learning.logistic.estimate import LogisticFit, fit_logistic
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.logistic.posterior import Posterior

Floats = NDArray[np.float64]
ROADS = {"factor": 1000, "conjugate": 0}


def case(seed: int) -> tuple[dict[str, Any], Floats]:
    """Arguments of a posterior, and its precision matrix written out."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(0, 20)), int(rng.integers(1, 25))
    rows = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    weights = rng.random(n) * (rng.random(n) < 0.8)
    precision = rng.uniform(0.1, 2.0, size=d)
    intercept = None if seed % 2 else 0.5
    arguments = {
        "precision": precision,
        "rows": sparse.csr_array(rows),
        "row_weights": weights,
        "intercept_precision": intercept,
    }
    if intercept is not None:
        rows, precision = np.hstack([rows, np.ones((n, 1))]), np.append(precision, intercept)
    return arguments, np.diag(precision) + rows.T @ (weights[:, None] * rows)


def one_hot(columns: Any, d: int) -> Any:
    m = len(columns)
    return sparse.csr_array((np.ones(m), (np.arange(m), columns)), shape=(m, d))


@pytest.mark.parametrize("limit", ROADS.values(), ids=ROADS)
def test_solves_and_norms_are_those_of_the_inverse(limit: int) -> None:
    for seed in range(60):
        arguments, matrix = case(seed)
        inverse = np.linalg.inv(matrix)
        rng = np.random.default_rng(seed)
        found = Posterior(**arguments, dense_limit=limit)
        vector = rng.normal(size=len(matrix))
        np.testing.assert_allclose(found.solve(vector), inverse @ vector, rtol=1e-9, atol=1e-9)
        d = len(arguments["precision"])
        rows = rng.normal(size=(30, d)) * (rng.random((30, d)) < 0.2)
        rows[10:20] = 0.0
        rows[np.arange(10, 20), rng.integers(0, d, size=10)] = 3.0
        for intercept in (0.0, 1.0):
            full = rows
            if arguments["intercept_precision"] is not None:
                full = np.hstack([rows, np.full((30, 1), intercept)])
            truth = np.sqrt(np.einsum("ij,jk,ik->i", full, inverse, full))
            norms = found.norms(sparse.csr_array(rows), intercept)
            np.testing.assert_allclose(norms, truth, rtol=1e-9, atol=1e-9)


def test_both_roads_agree_where_an_inverse_is_too_large() -> None:
    rng = np.random.default_rng(6)
    n, d = 60, 1500
    rows = sparse.random_array((n, d), density=0.01, rng=rng, format="csr")
    arguments: dict[str, Any] = {
        "precision": rng.uniform(0.1, 1.0, size=d),
        "rows": rows,
        "row_weights": rng.random(n) + 0.1,
        "intercept_precision": 0.2,
    }
    primal, dual = (Posterior(**arguments, dense_limit=limit) for limit in (5000, 0))
    vector = rng.normal(size=d + 1)
    np.testing.assert_allclose(primal.solve(vector), dual.solve(vector), rtol=1e-8, atol=1e-9)
    asked = sparse.vstack([rows[:20], one_hot(np.arange(0, d, 3), d)], format="csr")
    np.testing.assert_allclose(primal.norms(asked, 1.0), dual.norms(asked, 1.0), rtol=1e-9)


@pytest.mark.parametrize("limit", ROADS.values(), ids=ROADS)
def test_samples_have_the_right_covariance(limit: int) -> None:
    """Under N(mean, s^2 M^-1), (x - mean)' M (x - mean) / s^2 is chi-squared with D degrees.

    Summed over independent draws it is chi-squared with D times as many degrees; and so is each
    coordinate of the whitened draws, with one degree per draw. Each bound is broken with
    probability 1e-6 by a correct sampler; the seed is fixed, so the test is repeatable.
    """
    arguments, matrix = case(14)
    d = len(arguments["precision"])
    mean = np.linspace(-1, 1, d)
    found = Posterior(**arguments, mean=mean, intercept=2.0, dense_limit=limit)
    rng = np.random.default_rng(100)
    draws, scale = 1500, 0.35
    samples = np.array([np.append(*found.sample(rng, scale)) for _ in range(draws)])
    centred = (samples - np.append(mean, 2.0)) / scale
    whitened = centred @ np.linalg.cholesky(matrix)
    size = len(matrix)
    tail = 1e-6 / (2 * (2 * size + 1))
    low, high = stats.chi2.ppf([tail, 1 - tail], draws * size)
    assert low < (whitened**2).sum() < high
    low, high = stats.chi2.ppf([tail, 1 - tail], draws)
    assert ((low < (whitened**2).sum(axis=0)) & ((whitened**2).sum(axis=0) < high)).all()
    limit_of_mean = stats.norm.ppf(1 - tail) / np.sqrt(draws)
    assert (np.abs(whitened.mean(axis=0)) < limit_of_mean).all()
    # Distinct whitened coordinates are uncorrelated; Fisher's z of a correlation is near normal.
    correlations = np.corrcoef(whitened.T)[np.triu_indices(size, 1)]
    bound = stats.norm.ppf(1 - 1e-6 / (2 * len(correlations))) / np.sqrt(draws - 3)
    assert (np.abs(np.arctanh(correlations)) < bound).all()


def test_samples_repeat_and_scale() -> None:
    arguments, _ = case(3)
    found = Posterior(**arguments)
    first, second = (found.sample(np.random.default_rng(5), s)[0] for s in (1.0, 2.0))
    np.testing.assert_allclose(second, 2 * first)
    assert found.sample(np.random.default_rng(5), 0.0) == (pytest.approx(np.zeros(len(first))), 0.0)


def test_around_a_fit_it_is_the_hessian() -> None:
    rng = np.random.default_rng(12)
    data = LabelledTrajectories(5)
    rows = rng.integers(0, 3, size=(40, 5)).astype(float)
    for i, row in enumerate(rows):
        data.add((np.arange(5), row), i % 2)
    precision = np.full(5, 0.2)
    fit = fit_logistic(data, precision, 0.4)
    full = np.hstack([rows, np.ones((40, 1))])
    mu = 1 / (1 + np.exp(-(full @ np.append(fit.weights, fit.intercept))))
    matrix = np.diag(np.append(precision, 0.4)) + full.T @ ((mu * (1 - mu))[:, None] * full)
    found = Posterior.around(fit, data, precision, 0.4)
    vector = rng.normal(size=6)
    np.testing.assert_allclose(found.solve(vector), np.linalg.solve(matrix, vector))
    weights, intercept = found.sample(rng, 0.0)
    np.testing.assert_array_equal(weights, fit.weights)
    assert intercept == fit.intercept


def test_it_is_the_papers_design_matrix() -> None:
    """Sigma_t = kappa I + sum of phi phi' over episodes, merged or not."""
    rng = np.random.default_rng(13)
    rows = rng.integers(0, 2, size=(30, 4)).astype(float)
    data = LabelledTrajectories(4)
    for row in rows:
        data.add((np.arange(4), row), 1)
    counts, _ = data.counts()
    assert len(counts) < 30
    sigma = Posterior(np.full(4, 5.1), data.design(), counts)
    matrix = 5.1 * np.eye(4) + rows.T @ rows
    norms = sigma.norms(sparse.csr_array(np.eye(4)))
    np.testing.assert_allclose(norms, np.sqrt(np.linalg.inv(matrix).diagonal()))


def test_features_never_seen_keep_the_prior_without_a_solve() -> None:
    found = Posterior(np.array([4.0, 1.0, 9.0]), one_hot([1], 3), np.array([3.0]), dense_limit=0)
    np.testing.assert_array_equal(found.norms(one_hot([0, 2], 3)), [0.5, 1 / 3])
    assert "_dual_factor" not in vars(found)
    assert "_factor" not in vars(found)
    np.testing.assert_allclose(found.norms(one_hot([1], 3)), [0.5])


@pytest.mark.parametrize("limit", ROADS.values(), ids=ROADS)
def test_a_row_of_one_entry_has_its_share_of_the_norm(limit: int) -> None:
    rows = sparse.csr_array(np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 1.0]]))
    found = Posterior(np.array([1.0, 2.0, 3.0]), rows, np.array([0.7, 0.2]), dense_limit=limit)
    units = found.norms(one_hot([0, 1, 2], 3))
    scaled = sparse.csr_array(np.diag([2.5, -3.0, 0.5]))
    np.testing.assert_allclose(found.norms(scaled), units * [2.5, 3.0, 0.5], rtol=1e-12)


def test_means_are_0_unless_given() -> None:
    found = Posterior(np.ones(2), one_hot([0], 2), np.ones(1), intercept_precision=4.0)
    weights, intercept = found.sample(np.random.default_rng(1), scale=0.0)
    assert weights.tolist() == [0.0, 0.0]
    assert intercept == 0.0


def test_a_matrix_at_the_budget_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = sparse.csr_array(np.random.default_rng(0).normal(size=(5, 6)))
    monkeypatch.setattr(posterior_module, "LARGEST_FACTOR", 5)
    found = Posterior(np.ones(6), rows, np.ones(5), dense_limit=0).norms(rows)
    expected = Posterior(np.ones(6), rows, np.ones(5)).norms(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_matrix_beyond_the_budget_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posterior_module, "LARGEST_FACTOR", 3)
    rng = np.random.default_rng(0)
    rows = sparse.csr_array(rng.normal(size=(5, 6)))
    found = Posterior(np.ones(6), rows, np.ones(5), dense_limit=0)
    with pytest.raises(BudgetExceeded):
        found.norms(rows)
    assert found.solve(np.ones(6)).shape == (6,)


def test_a_solve_that_does_not_end_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posterior_module, "SOLVE_LIMIT", 1)
    arguments, matrix = case(14)
    with pytest.raises(BudgetExceeded, match="conjugate"):
        Posterior(**arguments, dense_limit=0).solve(np.ones(len(matrix)))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"precision": np.ones(4)}, "precision"),
        ({"precision": np.array([1.0, 0.0, 1.0])}, "precision"),
        ({"precision": np.array([1.0, np.inf, 1.0])}, "precision"),
        ({"row_weights": np.ones(3)}, "row_weights"),
        ({"row_weights": np.array([1.0, -1.0])}, "row_weights"),
        ({"row_weights": np.array([1.0, np.nan])}, "row_weights"),
        ({"intercept_precision": -1.0}, "intercept_precision"),
        ({"mean": np.zeros(2)}, "mean"),
        ({"mean": np.full(3, np.nan)}, "mean"),
        ({"mean": np.array([0.0, np.nan, 0.0])}, "mean"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], field: str) -> None:
    arguments: dict[str, Any] = {
        "precision": np.ones(3),
        "rows": one_hot([0, 1], 3),
        "row_weights": np.ones(2),
    }
    with pytest.raises(InvalidValue) as caught:
        Posterior(**(arguments | change))
    assert caught.value.field == field


def test_bad_questions_are_refused() -> None:
    found = Posterior(np.ones(3), one_hot([0, 1], 3), np.ones(2))
    with pytest.raises(InvalidValue, match="vector"):
        found.solve(np.ones(4))
    with pytest.raises(InvalidValue, match="rows"):
        found.norms(one_hot([0], 4))
    with pytest.raises(InvalidValue, match="rows"):
        found.norms(sparse.csr_array(np.full((1, 3), np.nan)))
    assert isinstance(fit_logistic(LabelledTrajectories(2), np.ones(2)), LogisticFit)
