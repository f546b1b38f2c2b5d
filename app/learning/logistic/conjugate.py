"""Conjugate gradients with a Jacobi preconditioner, for systems too large to factorise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.learning.arrays import Floats


@dataclass(frozen=True)
class ConjugateSolution:
    """An approximate solution x of A x = b, and how far it is from being one.

    Without convergence ``solution`` is the last iterate, which still decreases the quadratic
    1/2 x'Ax - b'x unless it is zero; ``message`` says why the iteration stopped.
    """

    solution: Floats  # (D,)
    residual_norm: float
    iterations: int
    converged: bool
    message: str


def conjugate_gradients(
    product: Callable[[Floats], Floats],
    right: Floats,
    diagonal: Floats,
    tolerance: float,
    limit: int,
) -> ConjugateSolution:
    """Solve A x = right until ||right - A x|| <= tolerance.

    ``product`` is v -> A v with A symmetric and positive definite, shape (D, D); ``diagonal`` is
    its diagonal, shape (D,). Every iterate x but the first has x.right > 0, so that a solve that
    is stopped early still gives a direction of descent.
    """
    x = np.zeros_like(right)
    residual = right.copy()
    scaled = residual / diagonal
    direction = scaled.copy()
    energy = float(residual @ scaled)
    for iteration in range(limit):
        if float(np.linalg.norm(residual)) <= tolerance:
            return _result(x, residual, iteration, tolerance, "converged")
        image = product(direction)
        curvature = float(direction @ image)
        if not 0.0 < curvature < np.inf:
            return _result(x, residual, iteration, tolerance, f"the curvature is {curvature:g}")
        step = energy / curvature
        x += step * direction
        residual -= step * image
        scaled = residual / diagonal
        previous, energy = energy, float(residual @ scaled)
        direction = scaled + (energy / previous) * direction
    return _result(x, residual, limit, tolerance, f"stopped after {limit} iterations")


def _result(
    x: Floats, residual: Floats, iterations: int, tolerance: float, message: str
) -> ConjugateSolution:
    norm = float(np.linalg.norm(residual))
    return ConjugateSolution(x, norm, iterations, norm <= tolerance, message)
