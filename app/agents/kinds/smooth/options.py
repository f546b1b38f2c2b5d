"""The options of `smooth`."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from app.agents.options import Options


class SmoothOptions(Options):
    """How `smooth` learns."""

    observes: ClassVar[bool] = True

    kind: Literal["smooth"] = Field(default="smooth", description="this agent kind")
    centres: int = Field(
        default=1000,
        strict=True,
        ge=100,
        le=4000,
        description="visited states that a plan is made on, at most; more are finer and slower",
    )
