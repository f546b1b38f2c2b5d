"""The options of an agent kind, and the options that several kinds share.

Light: schemas and the command line import this without loading any mathematics.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from app.wire.base import Strict
from app.wire.specification.features import Features, OneHotFeatures

MOST_EPISODES = 10**18
DIRECT = OneHotFeatures(over=("step", "state", "action"))  # the paper's direct parametrisation


class Options(Strict):
    """The options of an agent kind; a subclass per kind fixes ``kind``."""

    observes: ClassVar[bool] = False  # sees numbers as they are, instead of numbered states
    needs_bounds: ClassVar[bool] = False  # of the numbers that it sees
    default_features: ClassVar[Features | None] = None  # where the client chooses none

    kind: str


class PlanningOptions(Options):
    """The option of every kind whose plans are approximate."""

    epsilon: float = Field(
        default=0.02, strict=True, ge=1e-6, lt=1, description="accuracy of a plan"
    )


class TunedOptions(Options):
    """The scales of a tuned model; the paper's constants replace them."""

    visit_bonus: float = Field(
        default=0.07,
        strict=True,
        ge=0,
        le=10,
        description="added to the value of a place never visited",
    )
    prior_deviation: float = Field(
        default=3.0, strict=True, ge=1e-6, le=100, description="of a weight, before any label"
    )


class OptimistOptions(TunedOptions):
    """The paper's constants, and the scales that replace them when tuned."""

    default_features: ClassVar[Features | None] = DIRECT

    constants: Literal["tuned", "paper"] = Field(
        default="tuned", description="what works, or the paper's formulas to the letter"
    )
    radius: float = Field(
        default=0.5,
        strict=True,
        ge=0,
        le=100,
        description="optimism in deviations of the posterior (tuned)",
    )
    episodes: int = Field(
        default=1000,
        strict=True,
        ge=1,
        le=MOST_EPISODES,
        description="N of the paper's constants",
    )
    delta: float = Field(
        default=0.05,
        strict=True,
        ge=1e-100,
        lt=1,
        description="the probability that the regret bound fails (paper); split over all bounds",
    )
    norm_bound: float = Field(
        default=5.0,
        strict=True,
        ge=1e-6,
        le=100,
        description="B, bounds the norm of the weights of features scaled to norm 1 (paper)",
    )


class GridOptions(OptimistOptions, PlanningOptions):
    """The options of an optimistic kind that plans on grids."""

    optimism: Literal["logit", "reward"] | None = Field(
        default=None, description='"logit" by default, "reward" with the paper\'s constants'
    )
    planner: Literal["paper"] | None = Field(
        default=None,
        description='"paper": the dynamic programme of the paper\'s appendix, for tiny problems',
    )
    paper_epsilon: float = Field(
        default=1.0,
        strict=True,
        ge=1e-6,
        le=1000,
        description='epsilon of the paper\'s programme, with "planner": "paper"',
    )
