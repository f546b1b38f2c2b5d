"""Limits of the actions: planning problems in which some actions are impossible in some states.

An impossible action becomes a copy of a possible one, with the same weights and successors, that
costs a little more. So it is never the better choice, the maximum of the problem is the maximum
over the possible actions, and planners and their certificates need no change.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.learning.arrays import Booleans, Floats
from app.planning.problem import PlanningProblem

_COST = 1e-6  # of a copy; far above the rounding of floating point, far below any gap


def limit(problem: PlanningProblem, allowed: Booleans) -> PlanningProblem:
    """The same problem with the actions of ``allowed`` (S, A) alone; each state has one."""
    if allowed.all():
        return problem
    S, A = allowed.shape
    state = np.arange(S)[:, None]
    copied = np.where(allowed, np.arange(A), allowed.argmax(axis=1)[:, None])

    def of_copied(table: Floats) -> Floats:
        return np.ascontiguousarray(table[:, state, copied])

    return replace(
        problem,
        transitions=problem.transitions.with_rows((state * A + copied).ravel()),
        weights=of_copied(problem.weights),
        bonuses=of_copied(problem.bonuses) - _COST * ~allowed,
        widths=None if problem.widths is None else of_copied(problem.widths),
        allowed=allowed,
    )
