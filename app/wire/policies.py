"""The policy versions of an agent, as clients see them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from app.wire.base import Answer
from app.wire.evaluations import SuccessView


class PolicyVersionView(Answer):
    """One policy version."""

    version: int = Field(description="its number")
    episodes: int = Field(description="episodes that it knew")
    labels: int = Field(description="labels that it knew")
    predicted: float | None = Field(
        description="probability of success of the policy without bonuses, by the model of that "
        "time; null where the kind predicts nothing"
    )
    evaluation: SuccessView | None = Field(
        description="success of the episodes that evaluated it; null before the first result"
    )
    planner: str = Field(description="what made it")
    optimistic_value: float = Field(description="the score that planning maximised, with bonuses")
    gap: float = Field(description="certified distance to the best policy of the learned model")
    seconds: float = Field(description="how long learning took")
    at: datetime = Field(description="when it was published")
    in_force: bool = Field(description="whether episodes start on it now")
    pinned: bool = Field(description="whether it is pinned")


class PolicyVersionPage(Answer):
    """Some policy versions, and where the next ones begin."""

    items: list[PolicyVersionView] = Field(description="the newest first")
    next: str | None = Field(description="pass it as `cursor` to read on; null at the end")
