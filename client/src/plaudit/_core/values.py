"""Plain JSON values from what programs hold: NumPy scalars and arrays, enums, tuples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Union

from plaudit.errors import InvalidArgument

Json = Union[None, bool, int, float, str, "list[Json]", "dict[str, Json]"]


def plain(value: object, where: str = "") -> Json:
    """The JSON value of a number, name, array or container; ``where`` names it in errors.

    Anything with a ``tolist`` is taken (NumPy's scalars and arrays, tensors), without importing
    the library that it comes from.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _finite(value, where)
    if isinstance(value, Mapping):
        return {str(key): plain(part, _join(where, key)) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part, _join(where, i)) for i, part in enumerate(value)]
    return plain(_converted(value, where), where)


def _converted(value: Any, where: str) -> object:
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    if hasattr(value, "__index__"):
        return int(value)
    if hasattr(value, "__float__"):
        return float(value)
    raise InvalidArgument(
        f"{where or 'the value'} is a {type(value).__name__}, which JSON cannot carry. "
        "Give a number, a name, a list of numbers or an array."
    )


def _finite(value: float, where: str) -> float:
    if math.isfinite(value):
        return float(value)
    raise InvalidArgument(
        f"{where or 'the value'} is {value!r}, which the server refuses. "
        "Check the sensor or the environment that it came from; nothing was sent."
    )


def _join(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)
