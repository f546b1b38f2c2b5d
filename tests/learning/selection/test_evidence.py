"""The evidence against quadrature, against the primal formula, and where it is known exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate
from scipy.special import expit

import app.learning.selection.evidence as evidence_module
from app.errors import InvalidValue
from app.learning.logistic.estimate import fit_logistic
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.selection.evidence import laplace_log_evidence

Floats = NDArray[np.float64]


def log_likelihood(logits: Floats, labels: Floats) -> Any:
    return (labels * logits - np.logaddexp(0, logits)).sum(axis=-1)


def quadrature(rows: Floats, labels: Floats, variance: float) -> float:
    """log of the integral of p(y|Xw) N(w; 0, variance I) over one or two weights."""
    grid = np.linspace(-9, 9, 401) * np.sqrt(variance)
    prior = np.exp(-(grid**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    if rows.shape[1] == 1:
        heights = np.exp(log_likelihood(grid[:, None] * rows[:, 0], labels)) * prior
        return float(np.log(integrate.simpson(heights, x=grid)))
    lines = []
    for weight, density in zip(grid, prior, strict=True):
        logits = weight * rows[:, 0] + grid[:, None] * rows[:, 1]
        heights = np.exp(log_likelihood(logits, labels)) * prior * density
        lines.append(integrate.simpson(heights, x=grid))
    return float(np.log(integrate.simpson(lines, x=grid)))


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("n", [3, 20, 80])
def test_it_approximates_the_integral(d: int, n: int) -> None:
    rng = np.random.default_rng([d, n])
    rows = rng.normal(size=(n, d))
    labels = (rng.random(n) < expit(rows @ np.ones(d))).astype(float)
    found = laplace_log_evidence(rows @ rows.T, labels)
    truth = quadrature(rows, labels, 1.0)
    # Laplace's relative error of Z is of order 1/n, with a small constant for a logistic model.
    assert found.log_evidence == pytest.approx(truth, abs=0.3 / n**0.5)
    assert found.log_evidence != pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_primal_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 40)), int(rng.integers(1, 60))
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1.5)
    labels = (rng.random(n) < expit(rows[:, 0])).astype(float)
    precision = 10.0 ** rng.uniform(-2, 1, size=d)
    data = LabelledTrajectories(d)
    for row, label in zip(rows, labels, strict=True):
        data.add((np.arange(d), row), int(label))
    fit = fit_logistic(data, precision, 0.1)
    prior = fit.weights**2 @ precision + 0.1 * fit.intercept**2
    logits = rows @ fit.weights + fit.intercept
    columns = np.hstack([rows, np.ones((n, 1))])
    curvature = (columns.T * (expit(logits) * expit(-logits))) @ columns
    hessian = curvature + np.diag([*precision, 0.1])
    determinants = np.log(precision).sum() + np.log(0.1) - np.linalg.slogdet(hessian)[1]
    truth = log_likelihood(logits, labels) - 0.5 * prior + 0.5 * determinants
    found = laplace_log_evidence(rows @ (rows / precision).T + 10.0, labels)
    assert found.converged
    assert found.log_evidence == pytest.approx(truth, abs=1e-7)
    np.testing.assert_allclose(found.logits, logits, atol=1e-6)


def test_merged_rows_and_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(6, 3))
    times = np.array([1, 3, 2, 5, 1, 4])
    positives = np.array([1, 1, 0, 4, 0, 2])
    repeated = np.repeat(rows, times, axis=0)
    pairs = zip(times, positives, strict=True)
    labels = np.concatenate([np.arange(m) < p for m, p in pairs]).astype(float)
    merged = laplace_log_evidence(rows @ rows.T, positives / times, times)
    whole = laplace_log_evidence(repeated @ repeated.T, labels)
    assert merged.log_evidence == pytest.approx(whole.log_evidence, abs=1e-8)
    double = laplace_log_evidence(rows @ rows.T, positives / times, 2.0)
    twice = np.repeat(rows, 2, axis=0)
    other = laplace_log_evidence(twice @ twice.T, np.repeat(positives / times, 2))
    assert double.log_evidence == pytest.approx(other.log_evidence, abs=1e-8)


def test_known_values() -> None:
    assert laplace_log_evidence(np.zeros((0, 0)), np.zeros(0)).log_evidence == 0.0
    # Without prior variance every logit is 0 and every label a fair coin.
    fair = laplace_log_evidence(np.zeros((5, 5)), np.array([0.0, 1, 1, 0, 1]))
    assert fair.log_evidence == pytest.approx(5 * np.log(0.5))
    weightless = laplace_log_evidence(np.eye(2), np.array([0.0, 1.0]), 0.0)
    assert weightless.log_evidence == 0.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("weight", [1, 40])
def test_the_mode_is_always_reached(scale: float, weight: int) -> None:
    rng = np.random.default_rng(9)
    rows = rng.normal(size=(50, 4))
    for labels in (np.ones(50), (rows[:, 0] > 0) * 1.0, (rng.random(50) < 0.5) * 1.0):
        data = LabelledTrajectories(4)
        for row, label in zip(rows, labels, strict=True):
            for _ in range(weight):
                data.add((np.arange(4), row), int(label))
        fit = fit_logistic(data, np.full(4, 1 / scale))
        found = laplace_log_evidence(scale * rows @ rows.T, labels, weight)
        assert found.converged
        rounding = 1e-12 * scale  # of the product K a, whose terms nearly cancel
        np.testing.assert_allclose(found.logits, rows @ fit.weights, 1e-5, 1e-6 + rounding)


def test_steps_that_overshoot_are_shortened() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = rng.standard_t(2, size=(9, 4))
        labels = rng.integers(0, 2, size=9)
        times = np.ceil(4 * rng.random(9) ** 4).astype(int)
        data = LabelledTrajectories(4)
        for row, label, count in zip(rows, labels, times, strict=True):
            for _ in range(count):
                data.add((np.arange(4), row), int(label))
        fit = fit_logistic(data, np.full(4, 1e-3))
        found = laplace_log_evidence(1e3 * rows @ rows.T, labels, times)
        assert found.converged
        np.testing.assert_allclose(found.logits, rows @ fit.weights, rtol=1e-6, atol=1e-6)


def test_a_climb_that_is_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_module, "ITERATION_LIMIT", 1)
    assert not laplace_log_evidence(100 * np.eye(3), np.array([0.0, 1.0, 1.0])).converged


def test_the_model_that_made_the_labels_wins() -> None:
    rng = np.random.default_rng(1)
    right, wrong = rng.normal(size=(2, 250, 10)) / np.sqrt(10)
    labels = (rng.random(250) < expit(right @ rng.normal(size=10) * 3)).astype(float)
    scores = [laplace_log_evidence(9 * X @ X.T + 9, labels).log_evidence for X in (right, wrong)]
    assert scores[0] > scores[1] + 5


@pytest.mark.parametrize(
    ("kernel", "labels", "weight", "field"),
    [
        (np.eye(2), [0.0, 2.0], 1.0, "labels"),
        (np.eye(2), [0.0, np.nan], 1.0, "labels"),
        (np.eye(2), [[0.0, 1.0]], 1.0, "labels"),
        (np.eye(3), [0.0, 1.0], 1.0, "kernel"),
        (np.full((2, 2), np.nan), [0.0, 1.0], 1.0, "kernel"),
        (-9 * np.eye(2), [0.0, 1.0], 1.0, "kernel"),
        (np.eye(2), [0.0, 1.0], -1.0, "weight_per_row"),
        (np.eye(2), [0.0, 1.0], np.nan, "weight_per_row"),
        (np.eye(2), [0.0, 1.0], np.ones(3), "weight_per_row"),
    ],
)
def test_bad_input_is_refused(kernel: Any, labels: Any, weight: Any, field: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        laplace_log_evidence(kernel, labels, weight)
    assert caught.value.field == field
