"""How pages draw an agent's states, as clients choose it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.wire.base import MOST_ITEMS, Strict
from app.wire.specification.spaces import Name


class GridDisplay(Strict):
    """States drawn as squares, numbered row by row."""

    kind: Literal["grid"] = Field(default="grid", description="this drawing")
    rows: int = Field(ge=1, le=1000, strict=True, description="how many rows", examples=[4])
    cols: int = Field(ge=1, le=1000, strict=True, description="how many columns", examples=[4])


class NamesDisplay(Strict):
    """States shown by name."""

    kind: Literal["names"] = Field(default="names", description="this drawing")
    values: tuple[Name, ...] = Field(
        min_length=1,
        max_length=MOST_ITEMS,
        description="one name for each state, in their order",
        examples=[["start", "ice", "hole", "goal"]],
    )


Display = Annotated[GridDisplay | NamesDisplay, Field(discriminator="kind")]
