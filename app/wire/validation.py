"""Validate plain data as a pydantic model, and put pydantic's errors into words."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.errors import InvalidValue

Model = TypeVar("Model", bound=BaseModel)


def parse(model: type[Model], data: object, field: str = "") -> Model:
    """Validate ``data`` as ``model``. The first error is raised as an InvalidValue."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _invalid(error.errors(), data, field) from error


def _invalid(problems: list[ErrorDetails], data: object, field: str) -> InvalidValue:
    """The first error; among the errors of a union's members, the one with the longest path."""
    places = [place_of(problem, data) for problem in problems]
    same = [i for i, place in enumerate(places) if place[: len(places[0])] == places[0]]
    furthest = max(same, key=lambda i: len(places[i]))
    expected = expectation(problems[furthest])
    return InvalidValue(".".join((*filter(None, (field, *places[furthest])),)) or "value", expected)


def expectation(problem: ErrorDetails) -> str:
    """What was expected of a value, in words."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        return "no field of this name"
    if kind == "missing" or (kind.startswith("union_tag") and "expected_tags" not in context):
        return "a value"
    if kind == "too_short":
        return f"at least {context['min_length']} of them"
    if kind.startswith("union_tag"):
        return f"one of {context['expected_tags']}"
    message = problem["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return message[:1].lower() + message[1:]


def place_of(problem: ErrorDetails, value: Any) -> tuple[str, ...]:
    """The path to the invalid value in the client's data.

    pydantic's path also names the members of unions; they are left out.
    """
    place: list[str] = []
    last = len(problem["loc"]) - 1
    for i, part in enumerate(problem["loc"]):
        in_list = isinstance(value, list | tuple) and isinstance(part, int)
        if in_list or (isinstance(value, dict) and part in value):
            value = value[part]
        elif problem["type"] != "missing" or i < last:
            continue
        place.append(str(part))
    if problem["type"].startswith("union_tag"):
        place.append("kind")
    return tuple(place)
