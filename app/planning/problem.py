"""The planning problem that every planner takes, and the result that every planner returns.

Notation (paper, appendix on dynamic programming): S states, A actions, horizon H. A policy is
worth the expectation, in the model, of

    f(offset + sum_h w_h(s_h, a_h), sum_h v_h(s_h, a_h)) + sum_h b_h(s_h, a_h)

with f(x, y) = mu(x) in logit space, where optimism is part of w and v is not used, and
min(mu(x) + y, 1) in reward space.

An episode may end early. The model then moves to an *ended* column: the episode stays where it
ended, takes no more actions, and adds a known remainder to both sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.errors import InvalidValue
from app.learning.arrays import Booleans, Floats
from app.learning.world.model import PROBABILITY_TOLERANCE, TransitionModel
from app.learning.world.policy import Policy


@dataclass(frozen=True)
class PlanningProblem:
    """A model and the three sums to plan for.

    ``ended_weights[h, e]`` is the whole remainder that an episode adds when it is found ended in
    e at step h, that is the sum over the steps h..H-1 (row H is zero); ``e = S`` is the unreported
    end. ``ended_widths`` is the same for v. Nothing is added to b after the end.
    """

    start: Floats  # (S,) distribution of the first state
    transitions: TransitionModel
    weights: Floats  # (H, S, A): w
    bonuses: Floats  # (H, S, A): b
    ended_weights: Floats  # (H + 1, S + 1)
    offset: float = 0.0  # the model's intercept
    widths: Floats | None = None  # (H, S, A): v, only for reward space; v >= 0
    ended_widths: Floats | None = None  # (H + 1, S + 1)
    allowed: Booleans | None = None  # (S, A): the possible actions, where `limit` was applied

    def __post_init__(self) -> None:
        S, A = self.transitions.states, self.transitions.actions
        H = len(self.weights)
        if H < 1:
            raise InvalidValue("horizon", "at least one step")
        shapes = {
            "start": (self.start, (S,)),
            "weights": (self.weights, (H, S, A)),
            "bonuses": (self.bonuses, (H, S, A)),
            "ended_weights": (self.ended_weights, (H + 1, S + 1)),
            "widths": (self.widths, (H, S, A)),
            "ended_widths": (self.ended_widths, (H + 1, S + 1)),
        }
        for field, (array, shape) in shapes.items():
            if array is None:
                continue
            if array.shape != shape:
                raise InvalidValue(field, f"shape {shape}, got {array.shape}")
            if not np.isfinite(array).all():
                raise InvalidValue(field, "finite numbers")
        if not np.isfinite(self.offset):
            raise InvalidValue("offset", "a finite number")
        if (self.start < 0).any() or abs(self.start.sum() - 1.0) > PROBABILITY_TOLERANCE:
            raise InvalidValue("start", "probabilities that sum to one")
        if (self.widths is None) != (self.ended_widths is None):
            raise InvalidValue("widths", "widths and ended_widths together")
        if any(v is not None and v.min() < 0 for v in (self.widths, self.ended_widths)):
            raise InvalidValue("widths", "non-negative numbers")

    @property
    def horizon(self) -> int:
        """H, the number of steps."""
        return len(self.weights)

    @property
    def states(self) -> int:
        """S, the number of states an episode can act in."""
        return self.transitions.states

    @property
    def actions(self) -> int:
        """A, the number of actions."""
        return self.transitions.actions


@dataclass(frozen=True)
class PlanBudget:
    """The memory that one plan may use; a planner refuses larger problems before allocating."""

    cells: float = 2e8  # grid points over all steps and states
    bytes: float = 2e9


@dataclass(frozen=True)
class Plan:
    """The result of a planner: a policy, its value in the model, and certified bounds.

    The best policy of the model is worth at most ``upper``; ``policy`` is worth at least
    ``lower``; ``value`` is the planner's own estimate for ``policy``, between the two. An episode
    that only explores needs no label: its ``label_required`` is false.
    """

    planner: str
    policy: Policy
    value: float
    upper: float
    lower: float
    cells: int
    bytes: int
    seconds: float
    label_required: bool = True

    @property
    def gap(self) -> float:
        """The certified distance of the policy from the best one."""
        return self.upper - self.lower
