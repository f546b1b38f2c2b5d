"""Path and query parameters that several routes take, and checks that types cannot express."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Path, Query

from app.errors import InvalidValue

# The patterns are for documentation only. An id of any other form answers 404.
AgentId = Annotated[
    str,
    Path(
        description="the id of an agent",
        examples=["agt_0123456789"],
        json_schema_extra={"pattern": "^agt_[0-9a-z]{10}$"},
    ),
]
EpisodeId = Annotated[
    str,
    Path(
        description="the id of an episode",
        examples=["eps_0123456789_17"],
        json_schema_extra={"pattern": "^eps_[0-9a-z]{10}_[0-9]{1,10}$"},
    ),
]
KeyId = Annotated[str, Path(description="the id of a key", examples=["key_0123456789abcdef"])]
Limit = Annotated[int, Query(ge=1, le=500, description="how many at most")]
Cursor = Annotated[
    str | None, Query(max_length=100, description="`next` of the previous page, to read on")
]


_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # of a text in JSON; databases cannot store it


def read_cursor(text: str, parts: int) -> tuple[int, ...]:
    """The numbers that a cursor consists of."""
    pieces = text.split("-")
    if len(pieces) != parts or not all(p.isascii() and p.isdigit() and len(p) < 19 for p in pieces):
        raise InvalidValue("?cursor", "the value of `next` in the previous page")
    return tuple(int(piece) for piece in pieces)


def check_metadata(metadata: Mapping[str, Any], largest: int, field: str = "metadata") -> None:
    """Refuse metadata that is too large, or that is not valid JSON."""
    try:
        # A lone surrogate is a valid str; only encoding it fails.
        text = json.dumps(metadata, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidValue(field, "JSON with finite numbers and Unicode text") from error
    if _NUL.search(text):
        raise InvalidValue(field, "text without NUL characters")
    if len(text) > largest:
        raise InvalidValue(field, f"at most {largest} bytes as JSON")
