"""The estimate against independent solvers, and against itself by other histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import app.learning.logistic.estimate as logistic_module
from app.errors import InvalidValue, SnapshotError
from app.learning.logistic import newton
from app.learning.logistic.estimate import LogisticEstimator, LogisticFit, fit_logistic
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.logistic.loss import LogisticLoss

Floats = NDArray[np.float64]
KINDS = ["random", "separable", "duplicates", "wide", "one class", "empty", "huge", "counts"]
BRANCHES = {"factor": 1000, "conjugate": 0}


@dataclass
class Problem:
    rows: Floats  # (n, d), one per label
    labels: Floats  # (n,)
    precision: Floats
    intercept_precision: float | None

    @property
    def joint(self) -> tuple[Floats, Floats]:
        """The rows with the intercept's column, and all precisions."""
        if self.intercept_precision is None:
            return self.rows, self.precision
        ones = np.ones((len(self.rows), 1))
        return np.hstack([self.rows, ones]), np.append(self.precision, self.intercept_precision)

    def data(self) -> LabelledTrajectories:
        data = LabelledTrajectories(self.rows.shape[1])
        for row, label in zip(self.rows, self.labels, strict=True):
            data.add(sparse_row(row), int(label))
        return data

    def truth(self) -> Floats:
        """The minimum by two solvers of SciPy's, one after the other, label by label."""
        X, precision = self.joint

        def loss(theta: Floats) -> float:
            z = X @ theta
            return float((np.logaddexp(0, z) - self.labels * z).sum() + theta**2 @ precision / 2)

        def gradient(theta: Floats) -> Floats:
            return X.T @ (expit(X @ theta) - self.labels) + precision * theta

        def hessian(theta: Floats) -> Floats:
            mu = expit(X @ theta)
            return (X.T * (mu * (1 - mu))) @ X + np.diag(precision)

        zero = np.zeros(X.shape[1])
        near = optimize.minimize(
            loss, zero, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-6}
        )
        root = optimize.root(gradient, near.x, jac=hessian, method="hybr", options={"xtol": 1e-14})
        assert np.linalg.norm(gradient(root.x)) < 1e-9 * (1 + np.abs(X).sum())
        return np.asarray(root.x)


def sparse_row(row: Floats) -> tuple[NDArray[np.int64], Floats]:
    columns = np.flatnonzero(row)
    return columns, row[columns]


def problem(kind: str, seed: int) -> Problem:
    rng = np.random.default_rng([KINDS.index(kind), seed])
    d = int(rng.integers(1, 13))
    n = int(rng.integers(1, 60))
    if kind == "wide":
        d, n = int(rng.integers(20, 40)), int(rng.integers(1, 15))
    rows = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.uniform(0.2, 1.0))
    labels = (rng.random(n) < expit(rows @ rng.normal(size=d))).astype(float)
    if kind == "separable":
        labels = (rows[:, 0] > 0).astype(float)
    elif kind == "duplicates":
        rows = rows[rng.integers(0, max(1, n // 5), size=n)]
    elif kind == "one class":
        labels = np.full(n, float(rng.integers(2)))
    elif kind == "empty":
        rows, labels = rows[:0], labels[:0]
    elif kind == "huge":
        rows *= 300.0
    elif kind == "counts":
        rows = rng.multinomial(20, rng.dirichlet(np.ones(d)), size=n).astype(float)
        labels = (rng.random(n) < 0.5).astype(float)
    precision = 10.0 ** rng.uniform(-2, 1, size=d)
    intercept = None if seed % 2 else float(10.0 ** rng.uniform(-2, 1))
    return Problem(rows, labels, precision, intercept)


def theta(fit: LogisticFit, intercept_precision: float | None) -> Floats:
    if intercept_precision is None:
        assert fit.intercept == 0.0
        return fit.weights
    return np.append(fit.weights, fit.intercept)


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_independent_solvers(kind: str) -> None:
    for seed in range(25):
        case = problem(kind, seed)
        truth = case.truth()
        for limit in BRANCHES.values():
            estimator = LogisticEstimator(dense_limit=limit)
            fit = estimator.fit(case.data(), case.precision, case.intercept_precision)
            assert fit.converged, (kind, seed, fit)
            assert fit.gradient_norm <= 1e-8
            found = theta(fit, case.intercept_precision)
            np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("limit", BRANCHES.values(), ids=BRANCHES)
def test_it_agrees_with_scikit_learn(limit: int) -> None:
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(400, 60))
    labels = (rng.random(400) < expit(rows @ rng.normal(size=60) / 4)).astype(float)
    case = Problem(rows, labels, np.full(60, 0.25), None)
    theirs = LogisticRegression(
        C=4.0, fit_intercept=False, solver="newton-cholesky", tol=1e-13, max_iter=500
    ).fit(rows, labels)
    fit = LogisticEstimator(dense_limit=limit).fit(case.data(), case.precision)
    np.testing.assert_allclose(fit.weights, theirs.coef_[0], rtol=0, atol=1e-8)


def test_large_and_sparse_problems_never_see_a_square_matrix() -> None:
    rng = np.random.default_rng(2)
    d, steps = 18_000, 30
    data = LabelledTrajectories(d)
    for _ in range(200):
        visited = np.arange(steps) * (d // steps) + rng.integers(0, 20, size=steps)
        data.add((visited, np.ones(steps)), int(rng.random() < 0.4))
    fit = LogisticEstimator().fit(data, np.full(d, 0.3), 0.1)
    assert fit.converged
    # The optimality conditions, written out: the data's pull equals the prior's at every weight.
    X = data.design().rows
    counts, positives = data.counts()
    pull = positives - counts * expit(X @ fit.weights + fit.intercept)
    np.testing.assert_allclose(X.T @ pull, 0.3 * fit.weights, atol=1e-8)
    assert pull.sum() == pytest.approx(0.1 * fit.intercept, abs=1e-8)


def test_gradient_and_hessian_are_the_derivatives() -> None:
    for seed, kind in enumerate(k for k in KINDS if k != "huge"):
        case = problem(kind, seed)
        loss = LogisticLoss.of(case.data(), case.precision, case.intercept_precision)
        rng = np.random.default_rng(seed)
        point = loss.at(rng.normal(size=loss.design.size))
        hessian = loss.hessian(point.logits)
        for j, unit in enumerate(np.eye(loss.design.size)):
            up, down = loss.at(point.theta + 1e-5 * unit), loss.at(point.theta - 1e-5 * unit)
            rise = loss.value(up.theta, up.logits) - loss.value(down.theta, down.logits)
            assert rise / 2e-5 == pytest.approx(point.gradient[j], rel=1e-6, abs=1e-5)
            np.testing.assert_allclose(
                (up.gradient - down.gradient) / 2e-5, hessian[j], rtol=1e-5, atol=1e-5
            )


def test_huge_logits_lose_nothing() -> None:
    data = LabelledTrajectories(1)
    for label in (0, 1, 1):
        data.add(([0], [1.0]), label)
    loss = LogisticLoss.of(data, np.array([1e-300]))
    for logit, value, residual in [(800.0, 800.0, 1.0), (-800.0, 1600.0, -2.0)]:
        point = loss.at(np.array([logit]))
        assert loss.value(point.theta, point.logits) == pytest.approx(value, rel=1e-15)
        assert point.gradient[0] == pytest.approx(residual, rel=1e-15)
        assert loss.row_weights(point.logits)[0] == 0.0
    # 2 mu(z) - 2 = -2 mu(-z), which a plain difference would round to 0 at z = 40.
    data.remove(([0], [1.0]), 0)
    loss = LogisticLoss.of(data, np.array([1e-300]))
    assert loss.residual(np.array([40.0]))[0] == pytest.approx(-2 * np.exp(-40.0), rel=1e-12)


@pytest.mark.parametrize("limit", BRANCHES.values(), ids=BRANCHES)
@pytest.mark.parametrize("dense", [False, True])
def test_every_history_ends_in_the_same_estimate(limit: int, dense: bool) -> None:
    rng = np.random.default_rng(11)
    d = 20
    width = d if dense else 4
    warm, data, kept = LogisticEstimator(dense_limit=limit), LabelledTrajectories(d), []
    for t in range(1, 90):
        row = (np.sort(rng.choice(d, width, replace=False)), rng.integers(1, 9, size=width) / 2)
        kept.append((row, int(rng.random() < 0.3)))
        data.add(*kept[-1])
        if t % 7 == 0:  # a label is withdrawn
            data.remove(*kept.pop(int(rng.integers(len(kept)))))
        if t % 5 == 0:  # a label is replaced
            chosen = int(rng.integers(len(kept)))
            row, label = kept[chosen]
            data.remove(row, label)
            data.add(row, 1 - label)
            kept[chosen] = (row, 1 - label)
        precision = np.full(d, 0.1 * (1 + 1 / t))  # the adaptive scale moves with every label
        fit = warm.fit(data, precision, 0.1)
        assert fit.converged
    again = LabelledTrajectories(d)
    for row, label in reversed(kept):
        again.add(row, label)
    cold = LogisticEstimator(dense_limit=limit).fit(again, precision, 0.1)
    np.testing.assert_allclose(fit.weights, cold.weights, rtol=0, atol=1e-9)
    assert fit.intercept == pytest.approx(cold.intercept, abs=1e-9)


def test_a_withdrawn_label_was_never_there() -> None:
    case = problem("counts", 4)
    data = case.data()
    expected = fit_logistic(data, case.precision, 0.5)
    extra = sparse_row(np.arange(1.0, 1.0 + case.rows.shape[1]))
    data.add(extra, 1)
    assert not np.array_equal(fit_logistic(data, case.precision, 0.5).weights, expected.weights)
    data.remove(extra, 1)
    found = fit_logistic(data, case.precision, 0.5)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert found.intercept == expected.intercept


def test_without_labels_it_is_the_prior_mean() -> None:
    data, estimator = LabelledTrajectories(4), LogisticEstimator()
    row = ([1, 2], [1.0, 1.0])
    data.add(row, 1)
    assert estimator.fit(data, np.ones(4), 1.0).weights[1] > 0
    data.remove(row, 1)
    fit = estimator.fit(data, np.ones(4), 1.0)
    np.testing.assert_array_equal(fit.weights, np.zeros(4))
    assert (fit.intercept, fit.converged, fit.gradient_norm) == (0.0, True, 0.0)


def test_a_refit_takes_few_steps() -> None:
    rng = np.random.default_rng(5)
    d = 40
    truth = rng.normal(size=d)
    data, estimator, steps = LabelledTrajectories(d), LogisticEstimator(), []
    for t in range(600):
        row = rng.normal(size=d) / np.sqrt(d)
        data.add(sparse_row(row), int(rng.random() < expit(3 * row @ truth)))
        if t >= 400:
            steps.append(estimator.fit(data, np.full(d, 1 / 9), 1 / 9).iterations)
    assert np.mean(steps[1:]) <= 6


@pytest.mark.parametrize("limit", BRANCHES.values(), ids=BRANCHES)
def test_a_restored_estimator_goes_on_bit_by_bit(limit: int) -> None:
    rng = np.random.default_rng(8)
    data, estimator = LabelledTrajectories(15), LogisticEstimator(dense_limit=limit)
    restored = LogisticEstimator(dense_limit=limit)
    restored.restore(estimator.arrays())
    for t in range(40):
        data.add(sparse_row(rng.normal(size=15)), t % 2)
        found, expected = (e.fit(data, np.ones(15), 2.0) for e in (restored, estimator))
        np.testing.assert_array_equal(found.weights, expected.weights)
        assert found.intercept == expected.intercept
        if t % 10 == 5:
            restored = LogisticEstimator(dense_limit=limit)
            restored.restore(estimator.arrays())


def test_a_useless_inverse_only_costs_time() -> None:
    case = problem("random", 3)
    truth = case.truth()
    size = len(truth)
    for inverse in (-np.eye(size), np.zeros((size, size)), np.eye(size), np.eye(size + 1)):
        estimator = LogisticEstimator()
        estimator.restore({"inverse": inverse, "inverse_age": np.zeros(2)})
        fit = estimator.fit(case.data(), case.precision, case.intercept_precision)
        assert fit.converged
        np.testing.assert_allclose(theta(fit, case.intercept_precision), truth, atol=1e-8)


def test_a_worn_inverse_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "LUCK", -1000)
    rng = np.random.default_rng(14)
    data, estimator, ages = LabelledTrajectories(6), LogisticEstimator(), []
    for t in range(12):
        data.add(sparse_row(rng.normal(size=6)), t % 2)
        fit = estimator.fit(data, np.ones(6))
        np.testing.assert_allclose(fit.weights, fit_logistic(data, np.ones(6)).weights, atol=1e-9)
        ages.append(int(estimator.arrays()["inverse_age"][1]))
    assert ages[-1] < 12 * 900


def test_where_rounding_hides_the_gradient_it_still_ends() -> None:
    data = LabelledTrajectories(2)
    for i, label in enumerate([0, 1, 1, 0, 1, 0, 0, 1]):
        data.add(([0, 1], [1e9 * (i + 1.1), 1e9 * np.sqrt(i + 2)]), label)
    for limit in BRANCHES.values():
        fit = LogisticEstimator(dense_limit=limit).fit(data, np.full(2, 1e-3))
        assert fit.converged
        assert fit.iterations < 60
        assert 1e-8 < fit.gradient_norm < 1e-4


def test_a_fit_that_is_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logistic_module, "ITERATION_LIMIT", 1)
    case = problem("random", 3)
    assert not fit_logistic(case.data(), case.precision).converged


@pytest.mark.parametrize("limit", BRANCHES.values(), ids=BRANCHES)
def test_a_tolerance_is_kept_and_saves_steps(limit: int) -> None:
    case = problem("random", 3)
    X, precision = case.joint
    estimator = LogisticEstimator(dense_limit=limit)
    steps = []
    for tolerance in (1.0, 1e-2, None):
        fit = estimator.fit(case.data(), case.precision, case.intercept_precision, tolerance)
        found = theta(fit, case.intercept_precision)
        gradient = X.T @ (expit(X @ found) - case.labels) + precision * found
        assert fit.converged
        assert np.linalg.norm(gradient) <= (tolerance or 1e-8) + 1e-12
        steps.append(fit.iterations)
        if tolerance:  # the same again is there already
            again = estimator.fit(case.data(), case.precision, case.intercept_precision, tolerance)
            assert again.iterations == 0
    np.testing.assert_allclose(found, case.truth(), atol=1e-8)
    whole = LogisticEstimator(dense_limit=limit).fit(
        case.data(), case.precision, case.intercept_precision
    )
    assert steps[0] < whole.iterations


@pytest.mark.parametrize("tolerance", [0.0, -1.0, np.nan])
def test_an_improper_tolerance_is_refused(tolerance: float) -> None:
    with pytest.raises(InvalidValue, match="tolerance"):
        LogisticEstimator().fit(LabelledTrajectories(2), np.ones(2), tolerance=tolerance)


@pytest.mark.parametrize(
    "matrix", [np.ones((4, 4)), np.zeros((2, 2)) + 1e-3, 1e8 * np.ones((3, 3)) - 1e-9 * np.eye(3)]
)
def test_a_factor_of_a_singular_matrix_is_close_to_it(matrix: Floats) -> None:
    factor = newton.lower_factor(matrix.copy())
    np.testing.assert_allclose(factor @ factor.T, matrix, rtol=1e-12)


@pytest.mark.parametrize(
    "arrays",
    [
        {"theta": np.zeros((2, 2))},
        {"theta": np.array([np.nan])},
        {"inverse": np.zeros((2, 3)), "inverse_age": np.zeros(2)},
        {"inverse": np.zeros((2, 2))},
        {"inverse": np.full((2, 2), np.inf), "inverse_age": np.zeros(2)},
    ],
)
def test_broken_arrays_are_not_restored(arrays: dict[str, Any]) -> None:
    with pytest.raises(SnapshotError):
        LogisticEstimator().restore(arrays)


@pytest.mark.parametrize(
    ("precision", "intercept", "field"),
    [
        (np.ones(2), None, "precision"),
        (np.array([1.0, 0.0, 1.0]), None, "precision"),
        (np.array([1.0, -1.0, 1.0]), None, "precision"),
        (np.array([1.0, np.nan, 1.0]), None, "precision"),
        (np.ones(3), 0.0, "intercept_precision"),
        (np.ones(3), np.nan, "intercept_precision"),
    ],
)
def test_an_improper_prior_is_refused(precision: Any, intercept: Any, field: str) -> None:
    data = LabelledTrajectories(3)
    data.add(([0], [1.0]), 1)
    estimator = LogisticEstimator()
    before = estimator.fit(data, np.ones(3))
    with pytest.raises(InvalidValue) as caught:
        estimator.fit(data, precision, intercept)
    assert caught.value.field == field
    np.testing.assert_array_equal(estimator.fit(data, np.ones(3)).weights, before.weights)


def test_the_logit_of_a_row() -> None:
    fit = LogisticFit(np.array([1.0, 2.0, 4.0]), 0.5, True, 1, 0.0, "converged")
    assert fit.logit(np.array([0, 2]), np.array([1.0, 3.0])) == 13.5
