"""Solvers that fail say so, and their callers look."""

from __future__ import annotations

import numpy as np
import pytest

from app.errors import NumericalError
from app.learning.arrays import Floats
from app.learning.logistic import estimate, line_search, newton
from app.learning.logistic.conjugate import conjugate_gradients
from app.learning.logistic.estimate import LogisticEstimator, fit_logistic
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.logistic.newton import lower_factor


def some_data() -> LabelledTrajectories:
    rng, data = np.random.default_rng(0), LabelledTrajectories(5)
    for label in rng.integers(0, 2, size=40):
        data.add((np.arange(5), rng.normal(size=5)), int(label))
    return data


class TestFactor:
    @pytest.mark.parametrize(
        "matrix",
        [
            -np.eye(3),
            np.zeros((3, 3)),
            np.full((2, 2), np.nan),
            np.diag([1.0, -5.0]),
            np.array([[np.inf, 0.0], [0.0, 1.0]]),
        ],
        ids=["negative", "zero", "nan", "indefinite", "infinite"],
    )
    def test_a_matrix_without_a_factor_is_refused(self, matrix: Floats) -> None:
        with pytest.raises(NumericalError, match="cannot factorise a matrix of"):
            lower_factor(matrix)

    def test_an_indefinite_rest_of_rounding_is_raised(self) -> None:
        rows = np.random.default_rng(1).normal(size=(20, 8))
        matrix = rows @ rows.T  # of rank 8: twelve eigenvalues are rounding, some negative
        factor = lower_factor(matrix)
        np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-10 * matrix.max())


class TestConjugateGradients:
    def test_a_limit_is_a_failure_with_a_message(self) -> None:
        matrix = np.diag(np.arange(1.0, 9.0))
        solved = conjugate_gradients(lambda v: matrix @ v, np.ones(8), np.ones(8), 1e-12, 2)
        assert (solved.converged, solved.iterations) == (False, 2)
        assert solved.message == "stopped after 2 iterations"
        assert float(solved.solution @ np.ones(8)) > 0.0

    @pytest.mark.parametrize("curvature", [0.0, -1.0, np.nan, np.inf])
    def test_without_curvature_it_stops_with_finite_numbers(self, curvature: float) -> None:
        solved = conjugate_gradients(lambda v: curvature * v, np.ones(3), np.ones(3), 1e-12, 50)
        assert not solved.converged
        assert solved.message.startswith("the curvature is")
        assert np.isfinite(solved.solution).all()

    def test_newton_descends_even_where_the_inner_solver_makes_no_step(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = some_data()
        truth = fit_logistic(data, np.ones(5))
        monkeypatch.setattr(newton, "CONJUGATE_LIMIT", 0)
        fit = LogisticEstimator(dense_limit=0).fit(data, np.ones(5))
        assert fit.converged
        np.testing.assert_allclose(fit.weights, truth.weights, atol=1e-7)


class TestFit:
    def test_the_message_says_how_it_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert fit_logistic(some_data(), np.ones(5)).message == "converged"
        monkeypatch.setattr(estimate, "ITERATION_LIMIT", 1)
        fit = fit_logistic(some_data(), np.ones(5))
        assert not fit.converged
        assert fit.message.startswith("stopped after 1 iterations; the gradient norm is")

    def test_a_failed_line_search_ends_the_fit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without any trial step there is no point to continue from, and the fit says so."""
        monkeypatch.setattr(line_search, "_lower", lambda *_: False)
        monkeypatch.setattr(line_search, "MILD", -1.0)
        monkeypatch.setattr(line_search, "ENOUGH", 0.0)  # no slope is ever small enough
        fit = fit_logistic(some_data(), np.ones(5))
        assert not fit.converged
        assert "line search stopped after 60 trial steps" in fit.message
        assert fit.iterations == 1
