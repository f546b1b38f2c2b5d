"""The base classes and the types that request and response bodies share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)

Status = Literal["running", "awaiting_label", "labelled", "completed", "abandoned"]
Label = StrictBool | Annotated[StrictInt, Field(ge=0, le=1)]
State = StrictInt | StrictStr | list[StrictFloat]
Action = StrictInt | StrictStr
Metadata = dict[str, JsonValue]
Learning = Annotated[
    Literal["idle", "queued", "running", "failed"],
    Field(
        description="what learning is doing: `queued` waits for its turn, `failed` tries again at "
        "the next label"
    ),
]
ShortText = Annotated[StrictStr, Field(min_length=1, max_length=200)]
LabelsWanted = Annotated[int, Field(ge=1, le=20, strict=True)]
Comment = Annotated[StrictStr, Field(max_length=4000)]


class Strict(BaseModel):
    """A part of a request: unknown fields and infinite numbers are refused; it is immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Wire(Strict):
    """A request body."""


class Answer(BaseModel):
    """A response body."""

    model_config = ConfigDict(extra="forbid")
