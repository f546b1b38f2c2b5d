"""ISO 8601 durations, kept as the text that the client wrote."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, StrictStr

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


Duration = Annotated[StrictStr, AfterValidator(_checked)]
