"""What an agent believes by state, at the policy in force and at earlier ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.agents.belief_map import MOST_CELLS
from app.agents.insight import Axis, SuccessMap


@dataclass(frozen=True, slots=True)
class BeliefCell:
    """What an agent believes of one state, or of one cell over two numbers."""

    success: float | None  # chance of a good label from here; None where it was never
    visits: int
    action: int | None  # that it takes here, by its index


@dataclass(frozen=True)
class BeliefMap:
    """The cells of a map: one for each state, or a grid over the ``axes``, the last one fastest."""

    cells: list[BeliefCell]
    axes: tuple[Axis, ...] = ()


def belief_map(found: SuccessMap | None) -> BeliefMap | None:
    """A map for pages; None where there is none, or it is too large to draw."""
    if found is None or len(found.success) > MOST_CELLS:
        return None
    return BeliefMap(_cells(found), found.axes)


def _cells(found: SuccessMap) -> list[BeliefCell]:
    columns = zip(
        found.success.tolist(), found.visits.tolist(), found.best_actions.tolist(), strict=True
    )
    return [
        BeliefCell(
            None if math.isnan(success) or not visits else success,
            visits,
            action if visits and action >= 0 else None,
        )
        for success, visits, action in columns
    ]
