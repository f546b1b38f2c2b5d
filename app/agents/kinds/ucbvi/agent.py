"""Optimism in the face of uncertainty: the practical form of the paper's Algorithms 1 and 3."""

from __future__ import annotations

from app.agents.kinds.ucbvi.options import UcbviOptions
from app.agents.tabular.optimist import GridOptimist


class Ucbvi(GridOptimist[UcbviOptions]):
    """Plans in the optimistic model from the first episode on."""
