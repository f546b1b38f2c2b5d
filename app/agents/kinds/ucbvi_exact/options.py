"""The options of `ucbvi_exact`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.agents.options import OptimistOptions


class UcbviExactOptions(OptimistOptions):
    """How `ucbvi_exact` is optimistic. Its plans are exact: there is no accuracy to choose."""

    kind: Literal["ucbvi_exact"] = Field(default="ucbvi_exact", description="this agent kind")
