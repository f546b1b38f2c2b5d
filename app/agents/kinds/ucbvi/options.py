"""The options of `ucbvi`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.agents.options import GridOptions


class UcbviOptions(GridOptions):
    """How `ucbvi` is optimistic."""

    kind: Literal["ucbvi"] = Field(default="ucbvi", description="this agent kind")
