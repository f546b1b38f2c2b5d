"""Optimism in the face of uncertainty: the practical form of the paper's Algorithms 1 and 3."""

from __future__ import annotations

from app.agents.kinds.ucbvi.options import UcbviOptions
from app.agents.optimist import GridOptimist


class Ucbvi(GridOptimist[UcbviOptions]):
    """Plans for the optimistic model from the first episode on."""
