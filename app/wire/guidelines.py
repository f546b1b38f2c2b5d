"""What labellers are asked: the question, the guidelines and example episodes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, StrictStr

from app.wire.base import Answer, ShortText, Strict

Question = Annotated[
    StrictStr,
    Field(
        min_length=1,
        max_length=300,
        pattern=r"^[^\x00]*[^\s\x00][^\x00]*$",
        examples=["Did it reach the flag without falling into a hole?"],
    ),
]
Guidelines = Annotated[
    StrictStr,
    Field(
        min_length=1,
        max_length=10_000,
        pattern=r"^[^\x00]*[^\s\x00][^\x00]*$",
        examples=["Good: it stands at the flag at the end.\nBad: anything else."],
    ),
]


class Examples(Strict):
    """Episodes that show labellers what is good and what is bad."""

    good: tuple[ShortText, ...] = Field(
        default=(), max_length=5, description="ids of episodes", examples=[["eps_0123456789_3"]]
    )
    bad: tuple[ShortText, ...] = Field(
        default=(), max_length=5, description="ids of episodes", examples=[["eps_0123456789_4"]]
    )


class GuidelinesView(Answer):
    """One version of an agent's question and guidelines."""

    version: int = Field(description="counts from 1; kept with each label")
    question: Question | None = Field(description="what labellers answered")
    guidelines: Guidelines | None = Field(description="how to judge")
    at: datetime = Field(description="from when on it held")


class GuidelinesPage(Answer):
    """Every version of an agent's question and guidelines."""

    items: list[GuidelinesView] = Field(description="oldest first")
