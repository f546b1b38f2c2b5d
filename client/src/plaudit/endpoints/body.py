"""Building requests: bodies without what was left out, paths, keys that make retries safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Literal
from urllib.parse import quote

from plaudit._core.flow import Reply, token
from plaudit._core.parsing import parse
from plaudit.answers.agents import Space
from plaudit.errors import InvalidArgument
from plaudit.problems import NotFound


class _Left(Enum):
    OUT = "left out"


LEFT_OUT: Final = _Left.OUT
LeftOut = Literal[_Left.OUT]
SpaceLike = int | Sequence[str] | Space | Mapping[str, object]
"""16 is the numbers 0 to 15; a list of names is those names; or a Space, or its JSON."""


def given(**values: object) -> dict[str, object]:
    """The values that were given, without None."""
    return {
        name: value for name, value in values.items() if value is not None and value is not LEFT_OUT
    }


def stated(**values: object) -> dict[str, object]:
    """The values that were given, including None."""
    return {name: value for name, value in values.items() if value is not LEFT_OUT}


def path(*parts: str) -> str:
    """A path of the interface; ids are quoted, so that none reaches another path."""
    for part in parts:
        if not part or part in (".", ".."):
            raise InvalidArgument(f"{part!r} is not an id. Give one such as 'agt_…' or 'eps_…'.")
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def idempotent(key: str | None) -> dict[str, str]:
    """The header that makes a creation safe to repeat; all tries of one call share it."""
    return {"Idempotency-Key": key or token(16)}


def check_removed(reply: Reply) -> None:
    """Raise what a removal was answered with, unless a try before removed it already."""
    try:
        reply.check()
    except NotFound:
        if not reply.retried:
            raise


def space(value: SpaceLike, field: str) -> dict[str, object]:
    """A space in the form of the interface."""
    if isinstance(value, Space):
        return given(**vars(value))
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"kind": "labels", "values": list(value)}
    if hasattr(value, "__index__"):
        return {"kind": "discrete", "n": int(value)}
    raise InvalidArgument(
        f"{field} is {value!r}. Give how many there are, a list of names, or a Space."
    )


def read_space(value: SpaceLike, field: str) -> Space:
    """A space as an object."""
    return parse(Space, space(value, field))
