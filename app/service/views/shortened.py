"""Shortened specifications: lists of agents leave out most of what is long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.wire.base import JsonObject

MOST_ENTRIES = 100
"""Entries of a list that are kept, those of inner lists counted."""


def shorten(value: JsonObject, place: str = "") -> tuple[JsonObject, list[str]]:
    """A specification with its long lists cut, and their names, such as `states.values`."""
    short: JsonObject = {}
    cut: list[str] = []
    for name, entry in value.items():
        short[name] = entry
        if isinstance(entry, dict):
            short[name], inner = shorten(entry, f"{place}{name}.")
            cut += inner
        elif isinstance(entry, list | tuple):
            short[name] = _first(entry, MOST_ENTRIES)[0]
            if short[name] is not entry:
                cut.append(f"{place}{name}")
    return short, cut


def _first(entries: Sequence[Any], room: int) -> tuple[Sequence[Any], int]:
    """The first entries that there is room for, the same list if that is all; and the room left."""
    kept: list[Any] = []
    whole = True
    for entry in entries:
        if room <= 0:
            whole = False
            break
        if isinstance(entry, list | tuple):
            part, room = _first(entry, room)
            whole = whole and part is entry
            kept.append(part)
        else:
            kept.append(entry)
            room -= 1
    return (entries if whole else kept), room
