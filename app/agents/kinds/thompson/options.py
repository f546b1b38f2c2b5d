"""The options of `thompson`."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from app.agents.options import PlanningOptions, TunedOptions
from app.wire.specification.features import AutoFeatures, Features


class ThompsonOptions(PlanningOptions, TunedOptions):
    """How `thompson` explores. The defaults were tuned on all tasks together."""

    default_features: ClassVar[Features | None] = AutoFeatures()

    kind: Literal["thompson"] = Field(default="thompson", description="this agent kind")
    draws: int = Field(
        default=2, strict=True, ge=1, le=16, description="draws per plan; the best is kept"
    )
    spread: float = Field(
        default=0.35,
        strict=True,
        ge=0,
        le=10,
        description="of the draws, in deviations of the posterior",
    )
