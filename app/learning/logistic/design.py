"""The design matrix: the rows phi(tau) of the labelled trajectories, and the products with it.

X has shape (n, d), one row per distinct trajectory. With an intercept every row has one more
coordinate, which is 1 and comes last; D = d + 1 then, and D = d without. A coefficient vector
theta has shape (D,).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from app.learning.arrays import Floats, Integers

# Measured on one core: a sparse entry costs 7 times a dense one in a product with a vector, and
# 60 times in a Gram matrix.
SPARSE_PASS = 7.0
SPARSE_GRAM = 60.0
BLOCK_ROWS = 4096  # rows made dense at a time, so that a Gram matrix needs little memory


@dataclass(frozen=True)
class Design:
    """X as compressed rows, with a dense copy where BLAS on dense rows is faster."""

    rows: Any  # scipy.sparse.csr_array of shape (n, d)
    dense: Floats | None = None  # (n, d), the same numbers
    intercept: bool = False

    @property
    def count(self) -> int:
        """The number of rows, n."""
        return int(self.rows.shape[0])

    @property
    def size(self) -> int:
        """The number of coefficients, D."""
        return int(self.rows.shape[1]) + self.intercept

    def forward(self, theta: Floats) -> Floats:
        """The product X theta, shape (n,)."""
        matrix = self.rows if self.dense is None else self.dense
        if not self.intercept:
            return np.asarray(matrix @ theta)
        return np.asarray(matrix @ theta[:-1] + theta[-1])

    def adjoint(self, vector: Floats) -> Floats:
        """The product X' vector, shape (D,)."""
        product = self._transposed @ vector if self.dense is None else vector @ self.dense
        return np.append(product, vector.sum()) if self.intercept else np.asarray(product)

    def gram(self, weights: Floats) -> Floats:
        """The Gram matrix X' diag(weights) X, shape (D, D); weights >= 0."""
        d = self.rows.shape[1]
        gram = np.zeros((self.size, self.size))
        gram[:d, :d] = (
            self._sparse_gram(weights) if self._stays_sparse else self._blas_gram(weights)
        )
        if self.intercept:
            gram[-1] = gram[:, -1] = self.adjoint(weights)
        return gram

    def gram_diagonal(self, weights: Floats) -> Floats:
        """The diagonal of the Gram matrix, shape (D,), without the matrix."""
        squares = sparse.csr_array(
            (self.rows.data**2, self.rows.indices, self.rows.indptr), shape=self.rows.shape
        )
        diagonal = squares.T @ weights
        return np.append(diagonal, weights.sum()) if self.intercept else np.asarray(diagonal)

    @property
    def gram_cost(self) -> float:
        """The cost of a Gram matrix, in units of one product with X and one with X'.

        It is a formula and not a measurement, so that decisions made from it are reproducible.
        """
        n, d = self.rows.shape
        entries = self.rows.nnz / max(n, 1)
        full = SPARSE_GRAM * entries**2 if self._stays_sparse else float(d) ** 2
        once = 4.0 * (SPARSE_PASS * entries if self.dense is None else d)
        return float(full / max(once, 1.0))

    def select(self, keep: NDArray[np.bool_], columns: Integers) -> Design:
        """The same matrix with only the kept rows and the given columns, in increasing order."""
        d = self.rows.shape[1]
        if keep.all() and len(columns) == d:
            return self
        rows = self.rows if keep.all() else self.rows[np.flatnonzero(keep)]
        if len(columns) < d:
            rows = rows[:, columns]
        dense = None if self.dense is None else self.dense[np.ix_(keep, columns)]
        return Design(rows, dense, self.intercept)

    @cached_property
    def _transposed(self) -> Any:
        return self.rows.T

    @property
    def _stays_sparse(self) -> bool:
        n, d = self.rows.shape
        return self.dense is None and SPARSE_GRAM * (self.rows.nnz / max(n, 1)) ** 2 < float(d) ** 2

    def _sparse_gram(self, weights: Floats) -> Floats:
        scaled = self.rows.copy()
        scaled.data *= np.repeat(np.sqrt(weights), np.diff(scaled.indptr))
        return np.asarray((scaled.T @ scaled).toarray())

    def _blas_gram(self, weights: Floats) -> Floats:
        n, d = self.rows.shape
        gram = np.zeros((d, d))
        roots = np.sqrt(weights)[:, None]
        for first in range(0, n, BLOCK_ROWS):
            chosen = slice(first, first + BLOCK_ROWS)
            block = self.rows[chosen].toarray() if self.dense is None else self.dense[chosen]
            block = block * roots[chosen]
            gram += block.T @ block
        return gram
