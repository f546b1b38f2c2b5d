"""How many bytes an object holds, to bound the agents that a learning process keeps."""

from __future__ import annotations

import sys
from types import FunctionType, MethodType, ModuleType

import numpy as np

_SHARED = (type, ModuleType, FunctionType, MethodType, str, bytes, int, float, type(None))
"""What is not counted: small, or shared by all agents."""


def held_bytes(root: object) -> int:
    """About how many bytes an object and everything that it refers to take."""
    total, waiting, seen = 0, [root], set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, _SHARED) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
            waiting.append(value.base)  # a view holds the whole of it
            continue
        total += value.nbytes if isinstance(value, np.ndarray) else sys.getsizeof(value)
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            waiting.extend(value)
        elif not isinstance(value, np.ndarray):
            waiting.append(getattr(value, "__dict__", None))
            slots = getattr(type(value), "__slots__", ())
            waiting.extend(getattr(value, name, None) for name in slots)
    return total
