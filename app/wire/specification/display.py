"""How pages draw an agent's states and actions, as clients choose it."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StrictFloat,
    StrictStr,
    model_serializer,
    model_validator,
)

from app.wire.base import MOST_ITEMS, Strict
from app.wire.specification.spaces import Name

MOST_SQUARES = 10_000  # of a grid that is drawn
MOST_PICTURE_CHARACTERS = 200_000  # of all pictures together: every episode on a page brings them

Square = Annotated[int, Field(ge=0, lt=1_000_000, strict=True)]
Index = Annotated[int, Field(ge=0, lt=2**31, strict=True)]
CellKind = Literal["wall", "hole", "goal", "start", "item", "danger"]
Sign = Annotated[StrictStr, Field(min_length=1, max_length=12, pattern=r"^[^\x00]+$")]
Picture = Annotated[
    StrictStr,
    Field(
        max_length=MOST_PICTURE_CHARACTERS,
        pattern=r"^data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+=*$",
    ),
]
Interval = tuple[StrictFloat | None, StrictFloat | None]


class _Short(Strict):
    """Answered as it was sent: defaults that were left out stay out."""

    @model_serializer(mode="wrap")
    def _stated(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        # A return type would replace the schema of the model.
        stated = self.model_fields_set | {"kind"}
        return {name: value for name, value in handler(self).items() if name in stated}


class _Display(_Short):
    actions: tuple[Name, ...] = Field(
        default=(),
        max_length=MOST_ITEMS,
        description="a name for each action, in their order; by default the action as it is sent",
        examples=[["left", "down", "right", "up"]],
    )


class GridDisplay(_Display):
    """States drawn as squares, numbered row by row."""

    kind: Literal["grid"] = Field(default="grid", description="this drawing")
    rows: int = Field(ge=1, le=1000, strict=True, description="how many rows", examples=[4])
    cols: int = Field(ge=1, le=1000, strict=True, description="how many columns", examples=[4])
    places: tuple[Square, ...] = Field(
        default=(),
        max_length=MOST_ITEMS,
        description="the square of each state, where it is not the one of the same number",
    )
    names: tuple[Name, ...] = Field(
        default=(), max_length=MOST_ITEMS, description="a name for each state, in their order"
    )
    cells: dict[CellKind, Annotated[tuple[Square, ...], Field(max_length=MOST_ITEMS)]] = Field(
        default_factory=dict,
        description="squares by what they are; an episode that ends in a `goal`, a `hole` or "
        "`danger` is said to",
        examples=[{"start": [0], "hole": [5, 7, 11, 12], "goal": [15]}],
    )
    texts: dict[Annotated[str, Field(pattern=r"^\d{1,6}$")], Sign] = Field(
        default_factory=dict,
        max_length=MOST_SQUARES,
        description="a text or an emoji in a square, by its number",
        examples=[{"3": "🔑"}],
    )
    borders: tuple[tuple[Square, Square], ...] = Field(
        default=(),
        max_length=MOST_ITEMS,
        description="pairs of neighbouring squares with a wall between them",
        examples=[[[1, 2]]],
    )

    @model_validator(mode="after")
    def _within(self) -> GridDisplay:
        squares = self.rows * self.cols
        used = [*self.places, *(i for some in self.cells.values() for i in some)]
        used += [int(i) for i in self.texts] + [i for pair in self.borders for i in pair]
        if any(square >= squares for square in used):
            raise ValueError(f"squares from 0 to {squares - 1}")
        if any(not self._are_neighbours(*pair) for pair in self.borders):
            raise ValueError("borders between squares that lie side by side")
        return self

    def _are_neighbours(self, one: int, other: int) -> bool:
        (row, column), (below, beside) = divmod(one, self.cols), divmod(other, self.cols)
        return abs(row - below) + abs(column - beside) == 1


class NamesDisplay(_Display):
    """States shown by name."""

    kind: Literal["names"] = Field(default="names", description="this drawing")
    values: tuple[Name, ...] = Field(
        min_length=1,
        max_length=MOST_ITEMS,
        description="one name for each state, in their order",
        examples=[["start", "ice", "hole", "goal"]],
    )


class PicturesDisplay(_Display):
    """A picture for each state."""

    kind: Literal["pictures"] = Field(default="pictures", description="this drawing")
    values: tuple[Picture, ...] = Field(
        min_length=1,
        max_length=2000,
        description="one for each state, as `data:` addresses of PNG, JPEG, GIF, WebP or SVG in "
        f"base64; {MOST_PICTURE_CHARACTERS:,} characters in all",
        examples=[["data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="]],
    )
    names: tuple[Name, ...] = Field(
        default=(), max_length=MOST_ITEMS, description="a name for each state, in their order"
    )

    @model_validator(mode="after")
    def _small(self) -> PicturesDisplay:
        if sum(map(len, self.values)) > MOST_PICTURE_CHARACTERS:
            raise ValueError(f"pictures of {MOST_PICTURE_CHARACTERS:,} characters in all")
        return self


class Dimension(_Short):
    """One of the numbers of an observation."""

    name: Name = Field(min_length=1, description="what it measures", examples=["pole angle"])
    unit: Name = Field(default="", description="what it is measured in", examples=["rad"])
    low: StrictFloat | None = Field(
        default=None, description="lower end of its plot; by default the bound of the states"
    )
    high: StrictFloat | None = Field(default=None, description="upper end of its plot")
    safe: Interval | None = Field(
        default=None,
        description="an episode fails outside of it, null for no end; the rest is tinted",
        examples=[[-0.21, 0.21]],
    )
    goal: Interval | None = Field(
        default=None, description="an episode that ends within it reached the goal"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Dimension:
        for field in ("safe", "goal"):
            if (ends := getattr(self, field)) is not None:
                low, high = (-math.inf if ends[0] is None else ends[0]), ends[1]
                if low >= (math.inf if high is None else high):
                    raise ValueError(f"{field} with its lower end first")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("low below high")
        return self


Dimensions = Annotated[
    tuple[Dimension, ...],
    Field(max_length=1000, description="what the numbers of an observation are, in their order"),
]


class LinesDisplay(_Display):
    """Observations as a small plot for each number, with a strip of actions."""

    kind: Literal["lines"] = Field(default="lines", description="this drawing")
    dimensions: Dimensions = ()


class Region(_Short):
    """A rectangle of the plane."""

    kind: CellKind = Field(description="what it is; `wall` is an obstacle")
    low: tuple[StrictFloat, StrictFloat] = Field(
        description="its corner with the lowest values, of `x` and of `y`"
    )
    high: tuple[StrictFloat, StrictFloat] = Field(
        description="its corner with the highest values, of `x` and of `y`"
    )
    name: Name = Field(default="", description="written on it")

    @model_validator(mode="after")
    def _in_order(self) -> Region:
        if any(low >= high for low, high in zip(self.low, self.high, strict=True)):
            raise ValueError("low below high in both dimensions")
        return self


class TrackDisplay(_Display):
    """Two numbers of an observation as a path in the plane."""

    kind: Literal["track"] = Field(default="track", description="this drawing")
    x: Index = Field(description="the number that is drawn to the right", examples=[0])
    y: Index = Field(description="the number that is drawn upwards", examples=[1])
    dimensions: Dimensions = ()
    regions: tuple[Region, ...] = Field(
        default=(), max_length=1000, description="goals, obstacles and other areas"
    )

    @model_validator(mode="after")
    def _two(self) -> TrackDisplay:
        if self.x == self.y:
            raise ValueError("x and y that differ")
        return self


Display = Annotated[
    GridDisplay | NamesDisplay | PicturesDisplay | LinesDisplay | TrackDisplay,
    Field(discriminator="kind"),
]
