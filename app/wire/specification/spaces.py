"""State and action spaces, as clients describe them."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictFloat, StrictStr, model_validator

from app.wire.base import MOST_ITEMS, Expects, Strict

# The length limit makes pydantic decode the text, which refuses half a surrogate pair.
Name = Annotated[StrictStr, Field(max_length=200, pattern=r"^[^\x00]*$")]


class Discrete(Strict):
    """The whole numbers 0 .. n-1."""

    kind: Literal["discrete"] = Field(default="discrete", description="this space")
    n: int = Field(ge=1, le=2**31 - 1, strict=True, description="how many", examples=[16])

    @property
    def size(self) -> int:
        """The number of values."""
        return self.n


class Labels(Strict):
    """Names, such as rooms or commands."""

    kind: Literal["labels"] = Field(default="labels", description="this space")
    values: tuple[Name, ...] = Field(
        min_length=1,
        max_length=MOST_ITEMS,
        description="the names, all different",
        examples=[["kitchen", "hall"]],
    )

    @model_validator(mode="after")
    def _all_different(self) -> Labels:
        if len(set(self.values)) < len(self.values):
            raise ValueError("names that are all different")
        return self

    @property
    def size(self) -> int:
        """The number of names."""
        return len(self.values)


_Side = StrictFloat | None


class Box(Strict):
    """Numbers within bounds, cut into bins; what lies outside counts to the bin at the edge.

    Without bins, a side may be null: the number has no bound there.
    """

    kind: Literal["box"] = Field(default="box", description="this space")
    low: tuple[_Side, ...] = Field(
        min_length=1,
        max_length=1000,
        description="the lowest of each dimension; null for no bound",
        examples=[[-1.0, 0.0]],
    )
    high: tuple[_Side, ...] = Field(
        min_length=1,
        max_length=1000,
        description="the highest of each dimension; null for no bound",
        examples=[[1.0, 5.0]],
    )
    bins: tuple[Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)], ...] | None = Field(
        default=None,
        max_length=1000,
        description="per dimension; `smooth` and `reinforce` do without",
        examples=[[8, 10]],
    )

    @model_validator(mode="after")
    def _fits(self) -> Box:
        if len(self.low) != len(self.high) or any(
            low is not None and high is not None and not 0 < high - low < math.inf
            for low, high in zip(self.low, self.high, strict=False)
        ):
            raise ValueError("low and high of the same length, each low below its high")
        if self.bins is not None and len(self.bins) != len(self.low):
            raise ValueError("as many bins as bounds")
        if self.bins is not None and None in (*self.low, *self.high):
            raise ValueError("numbers instead of null in low and high, because there are bins")
        return self

    @property
    def size(self) -> int:
        """The number of bins over all dimensions; 1 for a box without bins."""
        return math.prod(self.bins or (1,))


_Count = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
FullStateSpace = Annotated[Discrete | Labels | Box, Field(discriminator="kind")]
FullActionSpace = Annotated[Discrete | Labels, Field(discriminator="kind")]


def _from_count(value: object) -> object:
    """A whole number n stands for the discrete space of n values."""
    if isinstance(value, int) and not isinstance(value, bool):
        return {"kind": "discrete", "n": value}
    return value


StateSpace = Annotated[
    FullStateSpace,
    BeforeValidator(_from_count, json_schema_input_type=_Count | FullStateSpace),
    Expects("a number of states such as 16, or an object with the kind discrete, labels or box"),
]
ActionSpace = Annotated[
    FullActionSpace,
    BeforeValidator(_from_count, json_schema_input_type=_Count | FullActionSpace),
    Expects("a number of actions such as 4, or an object with the kind discrete or labels"),
]
