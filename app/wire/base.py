"""The base classes and the types that request and response bodies share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)


@dataclass(frozen=True)
class Expects:
    """What a type expects, in words for people; pydantic's own words name its union's members."""

    words: str


Status = Literal["running", "awaiting_label", "labelled", "completed", "abandoned"]
Label = Annotated[
    StrictBool | Annotated[StrictInt, Field(ge=0, le=1)],
    Expects("1 or true for good, 0 or false for bad"),
]
CANNOT_TELL: Final = "cannot_tell"
Wait = Annotated[StrictBool | Literal["adaptive"], Expects('true, false or "adaptive"')]
MOST_ITEMS = 100_000  # of a list that has one entry for each state or step, or fewer
State = Annotated[
    StrictInt
    | Annotated[StrictStr, Field(max_length=200)]
    | Annotated[list[StrictFloat], Field(max_length=1000)],
    Expects("a whole number, a name or a list of numbers, as `states` of the agent says"),
]
Action = Annotated[
    StrictInt | Annotated[StrictStr, Field(max_length=200)],
    Expects("a whole number or a name, as `actions` of the agent says"),
]
Metadata = dict[str, JsonValue]
JsonObject = dict[str, Any]
"""A JSON document whose fields this code does not read."""
Learning = Annotated[
    Literal["idle", "queued", "running", "failed"],
    Field(
        description="what learning is doing: `queued` waits for its turn, `failed` tries again at "
        "the next label"
    ),
]
# PostgreSQL cannot store NUL characters in text.
ShortText = Annotated[
    StrictStr,
    Field(min_length=1, max_length=200, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$"),
]
LabelsWanted = Annotated[int, Field(ge=1, le=20, strict=True)]
Comment = Annotated[StrictStr, Field(max_length=4000, pattern=r"^[^\x00]*$")]
Reason = Annotated[StrictStr, Field(min_length=1, max_length=4000, pattern=r"^[^\x00]*$")]


class Strict(BaseModel):
    """A part of a request: unknown fields and infinite numbers are refused; it is immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Wire(Strict):
    """A request body."""


class Answer(BaseModel):
    """A response body."""

    model_config = ConfigDict(extra="forbid")


# Not pydantic's timedelta: it also reads numbers, "1 day, 0:00:00", years, months and negative
# durations, and it answers PT24H with P1D, while clients are promised the text that they sent.
_DURATION = re.compile(
    r"P(?:(?P<weeks>\d+)W|(?:(?P<days>\d+)D)?(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?"
    r"(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?)",
    re.ASCII,
)
_SECONDS = {"weeks": 604800, "days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
LONGEST_SECONDS = 10 * 365 * 86400.0


@lru_cache(maxsize=1024)
def duration_seconds(text: str) -> float:
    """Parse an ISO 8601 duration of weeks to seconds, above zero and at most ten years."""
    match = _DURATION.fullmatch(text)
    parts = {unit: float(n) for unit, n in match.groupdict().items() if n} if match else {}
    seconds = sum(_SECONDS[unit] * count for unit, count in parts.items())
    if not parts or not 0 < seconds <= LONGEST_SECONDS:
        raise ValueError("an ISO 8601 duration such as PT30M or P2D, at most ten years")
    return seconds


def _checked(text: str) -> str:
    duration_seconds(text)
    return text


Duration = Annotated[
    StrictStr,
    AfterValidator(_checked),
    Expects('an ISO 8601 duration in quotes, such as "PT30M" or "P2D", at most ten years'),
]
"""An ISO 8601 duration, kept as the text that the client wrote."""
