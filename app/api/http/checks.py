"""Checks of values that their types alone do not make."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.errors import InvalidValue


def bounded(metadata: Mapping[str, Any], largest: int, field: str = "metadata") -> None:
    """Refuse metadata that is no JSON or too large."""
    try:
        # Half a surrogate pair passes for text until it is encoded.
        size = len(json.dumps(metadata, allow_nan=False, ensure_ascii=False).encode())
    except (ValueError, RecursionError) as error:
        raise InvalidValue(field, "JSON with finite numbers and Unicode text") from error
    if size > largest:
        raise InvalidValue(field, f"at most {largest} bytes as JSON")


def cursor(text: str, parts: int) -> tuple[int, ...]:
    """The numbers that a cursor is made of."""
    pieces = text.split("-")
    if len(pieces) != parts or not all(p.isascii() and p.isdigit() and len(p) < 19 for p in pieces):
        raise InvalidValue("?cursor", "what `next` of the page before says")
    return tuple(int(piece) for piece in pieces)
