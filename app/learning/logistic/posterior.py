"""The Gaussian around an estimate: samples, solves and norms under its precision matrix.

    M = Lambda + X' diag(weights) X,    shape (D, D)

With weights n mu'(z) and the prior's Lambda, M is the Hessian M_t at the estimate; with weights n
and Lambda = kappa I it is the paper's Sigma_t. The intercept, where there is one, is the last
coordinate. Columns that no weighted row touches are independent of the rest and have only their
prior, so everything below works on the touched columns (C of them) and treats the others apart.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from app.errors import BudgetExceeded, InvalidValue
from app.learning.arrays import Floats
from app.learning.logistic.conjugate import conjugate_gradients
from app.learning.logistic.design import Design
from app.learning.logistic.estimate import DENSE_LIMIT, LogisticFit
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.logistic.loss import LogisticLoss, joint_precision
from app.learning.logistic.newton import lower_factor

LARGEST_FACTOR = 8000  # rows of a matrix that norms may factorise: 512 MB, some seconds
SOLVE_TOLERANCE = 1e-12  # residual of conjugate gradients, relative to the right-hand side
SOLVE_LIMIT = 10_000
BATCH = 512  # rows made dense at a time


class Posterior:
    """The Gaussian N(mean, M^-1) of one data set; later labels need a new posterior.

    ``precision`` (d,), ``rows`` a Design or a sparse matrix (n, d), ``row_weights`` (n,) >= 0;
    ``mean`` (d,) and ``intercept`` default to 0. Up to ``dense_limit`` touched columns samples and
    solves use a Cholesky factor of M, above it conjugate gradients.
    """

    def __init__(
        self,
        precision: Floats,
        rows: Design | Any,
        row_weights: Floats,
        *,
        intercept_precision: float | None = None,
        mean: Floats | None = None,
        intercept: float = 0.0,
        dense_limit: int = DENSE_LIMIT,
    ) -> None:
        design = rows if isinstance(rows, Design) else Design(sparse.csr_array(rows))
        n, d = design.rows.shape
        weights = np.asarray(row_weights, dtype=np.float64)
        if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise InvalidValue("row_weights", f"{n} finite numbers, none below 0")
        self._precision = joint_precision(precision, intercept_precision, d)
        self._mean = _joint_mean(mean, intercept, d, len(self._precision))
        self._dense_limit = dense_limit
        self._has_intercept = intercept_precision is not None
        weighted = weights > 0
        self._weights = weights[weighted]
        used = np.zeros(len(self._precision), dtype=np.bool_)
        used[design.rows.indices[np.repeat(weighted, np.diff(design.rows.indptr))]] = True
        columns = np.flatnonzero(used[:d])
        used[d:] = True
        self._touched = used  # (D,)
        plain = Design(design.rows, design.dense, self._has_intercept)
        self._design = plain.select(weighted, columns)

    @classmethod
    def around(
        cls,
        fit: LogisticFit,
        data: LabelledTrajectories,
        precision: Floats,
        intercept_precision: float | None = None,
        dense_limit: int = DENSE_LIMIT,
    ) -> Posterior:
        """Laplace's approximation around ``fit``, with the prior it was fitted under."""
        loss = LogisticLoss.of(data, precision, intercept_precision)
        theta = fit.weights
        if intercept_precision is not None:
            theta = np.append(theta, fit.intercept)
        return cls(
            precision,
            loss.design,
            loss.row_weights(loss.design.forward(theta)),
            intercept_precision=intercept_precision,
            mean=fit.weights,
            intercept=fit.intercept,
            dense_limit=dense_limit,
        )

    @property
    def size(self) -> int:
        """The number of coordinates, D."""
        return len(self._precision)

    def sample(self, rng: np.random.Generator, scale: float = 1.0) -> tuple[Floats, float]:
        """One draw (w, c) of N(mean, scale^2 M^-1); c is 0 without an intercept.

        With M = L L' the draw is L'^-1 e; without a factor it is M^-1 (Lambda^.5 e1 + X' W^.5 e2),
        whose covariance is M^-1 (Lambda + X' W X) M^-1 = M^-1.
        """
        deviation = rng.standard_normal(self.size)
        touched = self._touched
        deviation[~touched] /= np.sqrt(self._precision[~touched])
        if self._is_small:
            deviation[touched] = linalg.solve_triangular(
                self._factor, deviation[touched], lower=True, trans="T", check_finite=False
            )
        else:
            noise = np.sqrt(self._weights) * rng.standard_normal(len(self._weights))
            right = np.sqrt(self._precision[touched]) * deviation[touched]
            deviation[touched] = self._conjugate(right + self._design.adjoint(noise))
        theta = self._mean + scale * deviation
        return (theta[:-1], float(theta[-1])) if self._has_intercept else (theta, 0.0)

    def solve(self, vector: Floats) -> Floats:
        """M^-1 vector, shape (D,)."""
        vector = np.asarray(vector, dtype=np.float64)
        if vector.shape != (self.size,):
            raise InvalidValue("vector", f"shape {(self.size,)}, got {vector.shape}")
        solution = vector / self._precision
        part = vector[self._touched]
        if self._is_small:
            part = linalg.cho_solve((self._factor, True), part, check_finite=False)
        else:
            part = self._conjugate(part)
        solution[self._touched] = part
        return solution

    def norms(self, rows: Any, intercept: float = 0.0) -> Floats:
        """||x||_{M^-1} = sqrt(x' M^-1 x) for each sparse row x of shape (m, d), shape (m,).

        ``intercept`` is the rows' last coordinate: 1 for whole trajectories, 0 for single steps.
        """
        rows = self._completed(rows, intercept)
        squares = (rows * rows) @ (~self._touched / self._precision)
        part = rows[:, np.flatnonzero(self._touched)] if not self._touched.all() else rows
        part.sort_indices()
        lengths = np.diff(part.indptr)
        single = np.flatnonzero(lengths == 1)
        if len(single):  # one-hot features repeat: solve once for each column
            entries = part.indptr[single]
            columns, inverse = np.unique(part.indices[entries], return_inverse=True)
            units = sparse.csr_array(
                (np.ones(len(columns)), columns, np.arange(len(columns) + 1)),
                shape=(len(columns), part.shape[1]),
            )
            squares[single] += part.data[entries] ** 2 * self._squares(units)[inverse]
        several = np.flatnonzero(lengths > 1)
        if len(several):
            squares[several] += self._squares(part[several])
        return np.asarray(np.sqrt(squares))

    @property
    def _is_small(self) -> bool:
        return self._design.size <= self._dense_limit

    @property
    def _is_primal(self) -> bool:
        """Whether norms factorise over the columns, C x C, instead of over the rows, n x n."""
        columns, rows = self._design.size, self._design.count
        return self._is_small or columns <= min(rows, LARGEST_FACTOR)

    @cached_property
    def _factor(self) -> Floats:
        """The lower Cholesky factor of the touched part of M, shape (C, C)."""
        matrix = self._design.gram(self._weights)
        matrix.flat[:: len(matrix) + 1] += self._precision[self._touched]
        return lower_factor(matrix)

    @cached_property
    def _whitened(self) -> Any:
        """W^.5 X Lambda^-.5 with the intercept's column, sparse, shape (n, C)."""
        rows = self._design.rows
        if self._has_intercept:
            rows = sparse.hstack([rows, np.ones((rows.shape[0], 1))], format="csr")
        left = sparse.diags_array(np.sqrt(self._weights))
        right = sparse.diags_array(1.0 / np.sqrt(self._precision[self._touched]))
        return sparse.csr_array(left @ rows @ right)

    @cached_property
    def _dual_factor(self) -> Floats:
        """The lower Cholesky factor of I + W^.5 X Lambda^-1 X' W^.5, shape (n, n)."""
        n = self._design.count
        if n > LARGEST_FACTOR:
            raise BudgetExceeded(
                "norms over distinct labelled trajectories",
                n,
                LARGEST_FACTOR,
                "use features of which fewer trajectories are distinct",
            )
        matrix = np.eye(n)
        adjoint = sparse.csr_array(self._whitened.T)
        for first in range(0, n, BATCH):
            matrix[first : first + BATCH] += (
                self._whitened[first : first + BATCH] @ adjoint
            ).toarray()
        return lower_factor(matrix)

    def _squares(self, rows: Any) -> Floats:
        """x' M^-1 x over the touched columns for sparse rows (m, C), shape (m,)."""
        squares = np.empty(rows.shape[0])
        for first in range(0, len(squares), BATCH):
            chosen = slice(first, first + BATCH)
            primal = self._is_primal
            squares[chosen] = (self._primal_squares if primal else self._dual_squares)(rows[chosen])
        return squares

    def _primal_squares(self, rows: Any) -> Floats:
        """||L^-1 x||^2."""
        image = linalg.solve_triangular(
            self._factor, rows.toarray().T, lower=True, check_finite=False
        )
        return np.asarray(np.einsum("ij,ij->j", image, image))

    def _dual_squares(self, rows: Any) -> Floats:
        """x' Lambda^-1 x minus the reduction by the labelled rows (Woodbury)."""
        scaled = rows @ sparse.diags_array(1.0 / np.sqrt(self._precision[self._touched]))
        prior = np.asarray((scaled * scaled).sum(axis=1))
        image = (self._whitened @ sparse.csr_array(scaled.T)).toarray()
        image = linalg.solve_triangular(self._dual_factor, image, lower=True, check_finite=False)
        return np.asarray(np.maximum(prior - np.einsum("ij,ij->j", image, image), 0.0))

    def _conjugate(self, right: Floats) -> Floats:
        design, weights, precision = self._design, self._weights, self._precision[self._touched]
        solved = conjugate_gradients(
            lambda v: design.adjoint(weights * design.forward(v)) + precision * v,
            right,
            design.gram_diagonal(weights) + precision,
            tolerance=SOLVE_TOLERANCE * float(np.linalg.norm(right)),
            limit=SOLVE_LIMIT,
        )
        if not solved.converged:
            raise BudgetExceeded(
                "conjugate gradients",
                solved.residual_norm,
                SOLVE_TOLERANCE * float(np.linalg.norm(right)),
                "use a stronger prior or fewer features",
            )
        return solved.solution

    def _completed(self, rows: Any, intercept: float) -> Any:
        """The rows as CSR with the intercept's coordinate, shape (m, D)."""
        rows = sparse.csr_array(rows)
        d = self.size - self._has_intercept
        if rows.shape[1] != d:
            raise InvalidValue("rows", f"{d} columns, got {rows.shape[1]}")
        if not np.isfinite(rows.data).all():
            raise InvalidValue("rows", "finite numbers")
        if not self._has_intercept:
            return rows
        column = sparse.csr_array(np.full((rows.shape[0], 1), float(intercept)))
        return sparse.csr_array(sparse.hstack([rows, column], format="csr"))


def _joint_mean(mean: Floats | None, intercept: float, d: int, size: int) -> Floats:
    joint = np.zeros(size)
    if mean is not None:
        if np.shape(mean) != (d,):
            raise InvalidValue("mean", f"shape {(d,)}, got {np.shape(mean)}")
        joint[:d] = mean
    joint[d:] = intercept
    if not np.isfinite(joint).all():
        raise InvalidValue("mean", "finite numbers")
    return joint
