"""Parse JSON into dataclasses by their type hints. Unknown fields are ignored."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from plaudit.errors import UnexpectedAnswer

T = TypeVar("T")
_Convert = Callable[[Any], Any]


def parse(kind: type[T], data: object) -> T:
    """An instance of a dataclass from a JSON object.

    Later servers may answer with more fields than this client knows: those are left out. A field
    that is missing takes its default.
    """
    if not isinstance(data, dict):
        raise UnexpectedAnswer.of_body(f"expected an object for {kind.__name__}")
    values = {}
    plan: Any = kind
    for name, convert, required in _plan(plan):
        if name in data:
            values[name] = convert(data[name])
        elif required:
            raise UnexpectedAnswer.of_body(f"{kind.__name__} has no field {name!r}")
    return kind(**values)


@cache
def _plan(kind: Any) -> list[tuple[str, _Convert, bool]]:
    """Name, converter, and whether it is required, of every field of a dataclass."""
    hints = get_type_hints(kind)
    return [
        (
            field.name,
            _converter(hints[field.name]),
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(kind)
    ]


def _converter(hint: Any) -> _Convert:
    """What makes a JSON value one of a type; values of plain types stay as they are."""
    if hint is datetime:
        return read_time
    if is_dataclass(hint):
        return lambda value: parse(hint, value)  # type: ignore[arg-type]
    if get_origin(hint) is list:
        (part,) = (_converter(inner) for inner in get_args(hint))
        return lambda values: [part(value) for value in values]
    if get_origin(hint) in (Union, types.UnionType):
        return _optional(get_args(hint))
    return lambda value: value


def _optional(kinds: tuple[Any, ...]) -> _Convert:
    """The converter of `X | None`; of other unions the value itself."""
    given = [kind for kind in kinds if kind is not type(None)]
    if len(given) > 1:
        return lambda value: value
    convert = _converter(given[0])
    return lambda value: None if value is None else convert(value)


def read_time(text: str) -> datetime:
    """A time of RFC 3339, which ends in Z."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
