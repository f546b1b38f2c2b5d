"""Planning on tracked states: the budget of such a plan, and its policy on plain states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.errors import BudgetExceeded
from app.learning.world.tracker import Tracker
from app.planning.policies.tracked import TrackedPolicy
from app.planning.problem import Plan, PlanBudget

_ENTRY_ARRAYS, _CELL_ARRAYS = 8, 6  # 8-byte arrays that lifting and planning hold at a time
_LOWER = (
    "list fewer events or automaton states, or lower the number of states or actions or the horizon"
)


def plan_on_plain_states(tracker: Tracker, plan: Plan) -> Plan:
    """Turn a plan on tracked states into one whose policy acts on plain states."""
    entered = np.arange(tracker.size, dtype=np.int32).reshape(tracker.ended.shape)
    memories = tracker.update.reshape(tracker.size, -1).astype(np.int32)
    return replace(plan, policy=TrackedPolicy(entered, memories, plan.policy))


def check_tracked_budget(tracker: Tracker, actions: int, horizon: int, budget: PlanBudget) -> None:
    """Refuse a tracker whose plan is over budget while no transition is known."""
    pairs = tracker.size * actions
    entries = pairs * (tracker.ended.shape[1] + 1)
    needed = 8.0 * (_ENTRY_ARRAYS * entries + _CELL_ARRAYS * horizon * pairs)
    points = tracker.size * horizon
    if points > budget.cells:
        raise BudgetExceeded("plan with an automaton: points", points, budget.cells, _LOWER)
    if needed > budget.bytes:
        raise BudgetExceeded("plan with an automaton: bytes", needed, budget.bytes, _LOWER)
