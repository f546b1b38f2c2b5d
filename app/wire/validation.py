"""Validate plain data as a pydantic model, and put pydantic's errors into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.errors import InvalidValue, UnknownField, shown
from app.wire.base import Expects

Model = TypeVar("Model", bound=BaseModel)

_PREFIXES = ("Input should be ", "Value error, ")
_TYPES = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "string": "text in quotes",
    "dict": "an object, {…}",
    "model": "an object, {…}",
    "list": "a list, […]",
    "tuple": "a list, […]",
}
_KINDS = {"int_from_float": "int", "model_attributes_type": "model"}
_NUMBERS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of")
_LENGTHS = {
    "too_short": "at least {min_length} item{s}",
    "too_long": "at most {max_length} item{s}",
    "string_too_short": "a string of at least {min_length} character{s}",
    "string_too_long": "a string of at most {max_length} character{s}",
}


def parse(model: type[Model], data: object, field: str = "") -> Model:
    """Validate ``data`` as ``model``. The first error is raised as an InvalidValue."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _first(error.errors(), data, model, field) from error


def _first(
    problems: list[ErrorDetails], data: object, model: type[BaseModel], field: str
) -> InvalidValue:
    problem = problems[main_problem(problems, data)]
    name = ".".join(filter(None, (field, *place_of(problem, data)))) or "value"
    return invalid_value(problem, name, model)


def main_problem(problems: Sequence[ErrorDetails], data: object) -> int:
    """The index of the first error; of a union's members, of the one with the longest path.

    A list that is too long was meant to be that list, so its length is named.
    """
    places = [place_of(problem, data) for problem in problems]
    same = [i for i, place in enumerate(places) if place[: len(places[0])] == places[0]]
    return max(same, key=lambda i: (len(places[i]), problems[i]["type"] in _LENGTHS))


def invalid_value(problem: ErrorDetails, field: str, schema: Any) -> InvalidValue:
    """One of pydantic's errors as an InvalidValue. ``schema`` is the type that was validated."""
    if problem["type"] == "extra_forbidden":
        owner = _type_at(schema, problem["loc"][:-1])
        if owner is not None:
            known = tuple(sorted(name for name in owner.model_fields if name != "kind"))
            return UnknownField(field, known, _kind(owner))
        return InvalidValue(field, "no field of this name")
    own = problem["type"] in (*_LENGTHS, "missing", "value_error")  # these say it better
    words = None if own else _words_at(schema, problem, field)
    return InvalidValue(field, (words or _expectation(problem)) + _given(problem))


def _given(problem: ErrorDetails) -> str:
    """What came instead, where the sentence does not say so already."""
    kind = problem["type"]
    if kind in ("missing", "value_error") or kind in _LENGTHS or kind.startswith("union_tag_not"):
        return ""
    return f", got {shown(problem.get('ctx', {}).get('tag', problem['input']))}"


def _expectation(problem: ErrorDetails) -> str:
    """What was expected of a value, in words."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "missing" and problem["loc"] in ((), ("body",)):
        return "a JSON object; the request has no body"
    if kind == "missing" or (kind.startswith("union_tag") and "expected_tags" not in context):
        return "a value; it is missing"
    named = _TYPES.get(_KINDS.get(kind, kind.removesuffix("_type").removesuffix("_parsing")))
    if named is not None:
        return named
    if kind.startswith("union_tag"):
        return f"one of {context['expected_tags']}"
    if kind in _LENGTHS:
        length = context.get("min_length", context.get("max_length"))
        return _LENGTHS[kind].format(**context, s="" if length == 1 else "s")
    if kind == "string_pattern_mismatch" and r"\x00" in context["pattern"]:
        return "text that is not blank and has no NUL character"
    message = problem["msg"]
    for prefix in _PREFIXES:
        message = message.removeprefix(prefix)
    if kind in _NUMBERS:
        return f"a number {message}"
    return message[:1].lower() + message[1:]


def place_of(problem: ErrorDetails, value: Any) -> tuple[str, ...]:
    """The path to the invalid value in the client's data.

    pydantic's path also names the members of unions; they are left out.
    """
    place: list[str] = []
    last = len(problem["loc"]) - 1
    for i, part in enumerate(problem["loc"]):
        in_list = isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)
        if in_list or (isinstance(value, dict) and part in value):
            value = value[part]
        elif problem["type"] != "missing" or i < last:
            continue
        place.append(str(part))
    if problem["type"].startswith("union_tag") and isinstance(value, dict):
        place.append("kind")
    return tuple(place)


def _words_at(schema: Any, problem: ErrorDetails, field: str) -> str | None:
    """What the type of the invalid field says that it expects, if the error is at the field."""
    name = field.rpartition(".")[2]
    path = problem["loc"]
    if name not in path:
        return None
    place = len(path) - 1 - path[::-1].index(name)
    owner = _type_at(schema, path[:place])
    known = None if owner is None else owner.model_fields.get(name)
    if known is None:
        return None
    return next(_expected_words(Annotated[known.annotation, *known.metadata, None]), None)


def _expected_words(schema: Any) -> Iterator[str]:
    """The words that a type is annotated with, or a member of it."""
    if get_origin(schema) is Annotated:
        inner, *metadata = get_args(schema)
        yield from (part.words for part in metadata if isinstance(part, Expects))
        yield from _expected_words(inner)
    elif get_origin(schema) in (Union, UnionType):
        for member in get_args(schema):
            yield from _expected_words(member)


def _type_at(schema: Any, path: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The model at a path of pydantic's error; None where the path leads to no model."""
    found = list(_members(schema))
    for part in path:
        found = [inner for outer in found for inner in _step(outer, part)]
    models = [member for member in found if _is_model(member)]
    return models[0] if len(models) == 1 else None


def _step(schema: Any, part: int | str) -> Iterator[Any]:
    """The types that one part of a path may lead to: a field, an item, or a union's member."""
    if _is_model(schema):
        if part in schema.model_fields:
            yield from _members(schema.model_fields[str(part)].annotation)
        if part in (schema.__name__, _kind(schema)):
            yield schema
    elif isinstance(part, int):
        for item in get_args(schema):
            yield from _members(item)


def _members(schema: Any) -> Iterator[Any]:
    """The members of a union, or the type itself."""
    origin = get_origin(schema)
    if origin is Annotated:
        yield from _members(get_args(schema)[0])
    elif origin in (Union, UnionType):
        for member in get_args(schema):
            yield from _members(member)
    else:
        yield schema


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)


def _kind(model: type[BaseModel]) -> str | None:
    """The value of ``kind`` that chooses a model among several."""
    field = model.model_fields.get("kind")
    if field is None or get_origin(field.annotation) is not Literal:
        return None
    return str(get_args(field.annotation)[0])
