"""What all bodies share: their kinds, and the words that many of them use."""

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

from app.agents.spec import Strict

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
Comment = Annotated[StrictStr, Field(max_length=4000)]


class Wire(Strict):
    """A body that a client sends, with an example that works when pasted."""


class Answer(BaseModel):
    """A body that the server sends."""

    model_config = ConfigDict(extra="forbid")
