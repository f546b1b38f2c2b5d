"""Conjugate gradients with a Jacobi preconditioner, for systems too large to factorise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.learning.arrays import Floats


@dataclass(frozen=True)
class ConjugateSolution:
    """An approximate solution x of A x = b, and how far it is from being one."""

    solution: Floats  # (D,)
    residual_norm: float
    iterations: int
    converged: bool


def conjugate_gradients(
    product: Callable[[Floats], Floats],
    right: Floats,
    diagonal: Floats,
    tolerance: float,
    limit: int,
) -> ConjugateSolution:
    """Solve A x = right until ||right - A x|| <= tolerance.

    ``product`` is v -> A v with A symmetric and positive definite, shape (D, D); ``diagonal`` is
    its diagonal, shape (D,). Every iterate x has x.right > 0, so that a solve that is stopped
    early still gives a direction of descent.
    """
    x = np.zeros_like(right)
    residual = right.copy()
    scaled = residual / diagonal
    direction = scaled.copy()
    energy = float(residual @ scaled)
    for iteration in range(limit):
        norm = float(np.linalg.norm(residual))
        if norm <= tolerance:
            return ConjugateSolution(x, norm, iteration, True)
        image = product(direction)
        step = energy / float(direction @ image)
        x += step * direction
        residual -= step * image
        scaled = residual / diagonal
        previous, energy = energy, float(residual @ scaled)
        direction = scaled + (energy / previous) * direction
    norm = float(np.linalg.norm(residual))
    return ConjugateSolution(x, norm, limit, norm <= tolerance)
