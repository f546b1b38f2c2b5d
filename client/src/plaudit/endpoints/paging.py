"""Pages of lists."""

from __future__ import annotations

from typing import TypeVar

from plaudit._core.flow import Request
from plaudit._core.parsing import parse
from plaudit._core.session import Page
from plaudit._core.values import Json
from plaudit.errors import UnexpectedAnswer

T = TypeVar("T")


def page_request(
    where: str, size: int, cursor: str | None, query: dict[str, str] | None = None
) -> Request:
    """The request for the page of a path that a cursor begins; None is the first."""
    more = {} if cursor is None else {"cursor": cursor}
    return Request("GET", where, query={**(query or {}), "limit": str(size), **more})


def read_page(kind: type[T], data: Json) -> Page[T]:
    """A page of items of one kind."""
    if not isinstance(data, dict) or not isinstance(items := data.get("items"), list):
        raise UnexpectedAnswer.of_body("expected a page of items")
    following = data.get("next")
    return Page(
        [parse(kind, item) for item in items], None if following is None else str(following)
    )
