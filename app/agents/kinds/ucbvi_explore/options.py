"""The options of `ucbvi_explore`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.agents.options import MOST_EPISODES, GridOptions

SMALLEST_OMEGA = 1e-6  # the paper's constants divide by its fourth power


class UcbviExploreOptions(GridOptions):
    """How `ucbvi_explore` explores and is optimistic."""

    kind: Literal["ucbvi_explore"] = Field(default="ucbvi_explore", description="this agent kind")
    optimism: Literal["logit", "reward"] | None = Field(
        default="reward", description='"logit" only with tuned constants'
    )
    episodes: int | None = Field(  # type: ignore[assignment]  # optional in this kind
        default=None,
        strict=True,
        ge=1,
        le=MOST_EPISODES,
        description="N; 1000 when tuned, with the paper's constants the least that they allow",
    )
    omega: float | None = Field(
        default=None,
        strict=True,
        ge=SMALLEST_OMEGA,
        lt=1,
        description="how far every direction can be reached; by default half of one step's share",
    )
    first_direction: tuple[float, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=100_000,
        description="v_1 of Algorithm 2, one number for each feature, of any length; by default "
        "a direction that can be reached well",
    )
    n_euler: int | None = Field(
        default=None, strict=True, ge=1, le=MOST_EPISODES, description="EULER's episodes per loop"
    )
    n_eval: int | None = Field(
        default=None,
        strict=True,
        ge=1,
        le=MOST_EPISODES,
        description="evaluation's episodes per loop",
    )
    max_loops: int | None = Field(
        default=None, strict=True, ge=1, le=10**9, description="the most directions to seek"
    )
    euler_scale: float = Field(
        default=0.01, strict=True, ge=1e-9, le=1, description="of EULER's confidence term (tuned)"
    )
    euler_constant: float = Field(
        default=1.0, strict=True, ge=1e-9, le=1e6, description="C1 of n_euler (paper)"
    )
    eval_constant: float = Field(
        default=1.0, strict=True, ge=1e-9, le=1e6, description="C2 of n_eval (paper)"
    )
