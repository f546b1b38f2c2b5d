"""The spaces that clients speak in, and what the mathematics makes of their values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, StrictFloat, StrictStr, model_validator

from app.errors import InvalidValue
from app.wire.base import Strict

# The bound makes pydantic look at the characters, and so refuse half a surrogate pair.
Name = Annotated[StrictStr, Field(max_length=200)]


class Discrete(Strict):
    """The whole numbers 0 .. n-1."""

    kind: Literal["discrete"] = Field(default="discrete", description="this space")
    n: int = Field(ge=1, le=2**31 - 1, strict=True, description="how many", examples=[16])

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.n

    def encode(self, value: object, field: str) -> int:
        """The index of a value."""
        if type(value) is int and 0 <= value < self.n:
            return value
        raise InvalidValue(field, f"a whole number from 0 to {self.n - 1}")

    def decode(self, index: int) -> int | str:
        """The value of an index."""
        return index


class Labels(Strict):
    """Names, such as rooms or commands."""

    kind: Literal["labels"] = Field(default="labels", description="this space")
    values: tuple[Name, ...] = Field(
        min_length=1, description="the names, all different", examples=[["kitchen", "hall"]]
    )

    @model_validator(mode="after")
    def _all_different(self) -> Labels:
        if len(set(self.values)) < len(self.values):
            raise ValueError("names that are all different")
        return self

    @property
    def size(self) -> int:
        """How many names there are."""
        return len(self.values)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.values)}

    def encode(self, value: object, field: str) -> int:
        """The index of a name."""
        index = self._places.get(value) if isinstance(value, str) else None
        if index is None:
            some = ", ".join(map(repr, self.values[:5])) + (", …" if self.size > 5 else "")
            raise InvalidValue(field, f"one of the names {some}")
        return index

    def decode(self, index: int) -> int | str:
        """The name of an index."""
        return self.values[index]


class Box(Strict):
    """Numbers within bounds, cut into bins; what lies outside counts to the bin at the edge."""

    kind: Literal["box"] = Field(default="box", description="this space")
    low: tuple[StrictFloat, ...] = Field(
        min_length=1,
        max_length=1000,
        description="the lowest of each dimension",
        examples=[[-1.0, 0.0]],
    )
    high: tuple[StrictFloat, ...] = Field(
        min_length=1,
        max_length=1000,
        description="the highest of each dimension",
        examples=[[1.0, 5.0]],
    )
    bins: tuple[Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)], ...] | None = Field(
        default=None, description="per dimension; only `reinforce` does without", examples=[[8, 10]]
    )

    @model_validator(mode="after")
    def _fits(self) -> Box:
        if len(self.low) != len(self.high) or any(
            low >= high or not math.isfinite(high - low)
            for low, high in zip(self.low, self.high, strict=False)
        ):
            raise ValueError("low and high of the same length, each low below its high")
        if self.bins is not None and len(self.bins) != len(self.low):
            raise ValueError("as many bins as bounds")
        return self

    @property
    def size(self) -> int:
        """How many bins there are in all; one when nothing is cut."""
        return math.prod(self.bins or (1,))

    def encode(self, value: object, field: str) -> int:
        """The bin of an observation, the last dimension fastest."""
        numbers = self.observation(value, field)
        index = 0
        for x, low, high, bins in zip(numbers, self.low, self.high, self.bins or (), strict=False):
            share = (min(max(x, low), high) - low) / (high - low)
            index = index * bins + min(int(share * bins), bins - 1)
        return index

    def observation(self, value: object, field: str) -> list[float]:
        """The numbers of an observation, checked."""
        if (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and len(value) == len(self.low)
            and all(type(x) in (int, float) for x in value)
        ):
            try:
                numbers = [float(x) for x in value]
            except OverflowError:
                numbers = [math.inf]
            if all(math.isfinite(x) for x in numbers):
                return numbers
        raise InvalidValue(field, f"a list of {len(self.low)} finite numbers")

    def decode(self, index: int) -> list[float]:
        """The middle of a bin."""
        middle: list[float] = []
        for low, high, bins in zip(
            reversed(self.low), reversed(self.high), reversed(self.bins or ()), strict=False
        ):
            index, place = divmod(index, bins)
            middle.append(low + (place + 0.5) * (high - low) / bins)
        return middle[::-1]


StateSpace = Annotated[Discrete | Labels | Box, Field(discriminator="kind")]
ActionSpace = Annotated[Discrete | Labels, Field(discriminator="kind")]
