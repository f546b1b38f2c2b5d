"""Codecs: values of Gymnasium spaces as one whole number, and back.

A space of several parts is counted like the digits of a number, the last part fastest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from plaudit._core.values import plain
from plaudit.errors import InvalidArgument
from plaudit.offline.spaces import bin_of


class Codec(Protocol):
    """Values of a space as the numbers 0 to size - 1."""

    @property
    def size(self) -> int:
        """How many values there are."""

    def encode(self, value: Any) -> int:
        """The number of a value."""

    def decode(self, index: int) -> Any:
        """A value as the environment takes it."""


@dataclass(frozen=True)
class Whole:
    """`Discrete`: the whole numbers from start on."""

    size: int
    start: int = 0

    def encode(self, value: Any) -> int:
        """The number of a value, counted from 0."""
        number = plain(value, "observation")
        if type(number) is int and 0 <= number - self.start < self.size:
            return number - self.start
        raise InvalidArgument(
            f"The environment gave {value!r}, which is not in its space: a whole number from "
            f"{self.start} to {self.start + self.size - 1}. Correct the environment or its space."
        )

    def decode(self, index: int) -> int:
        """The value, counted from start."""
        return index + self.start


@dataclass(frozen=True)
class Digits:
    """`MultiDiscrete` and `MultiBinary`: an array of whole numbers, each with its own count."""

    shape: tuple[int, ...]
    parts: tuple[Whole, ...]
    dtype: Any

    @property
    def size(self) -> int:
        """The product of the counts."""
        return math.prod(part.size for part in self.parts)

    def encode(self, value: Any) -> int:
        """The number whose digits are the values."""
        return _join(self.parts, _flat(value, len(self.parts)))

    def decode(self, index: int) -> Any:
        """The digits as an array."""
        import numpy as np

        return np.array(_split(self.parts, index), dtype=self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class Binned:
    """`Box`: numbers that are cut into bins; what lies outside counts to the bin at the edge."""

    shape: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    bins: tuple[int, ...]
    dtype: Any = "float32"

    @property
    def size(self) -> int:
        """The product of the bins."""
        return math.prod(self.bins)

    def encode(self, value: Any) -> int:
        """The number of the bin."""
        values = [float(x) for x in _flat(value, len(self.low))]
        if not all(map(math.isfinite, values)):
            plain(values, "observation")  # says which one is not
        return bin_of(values, list(self.low), list(self.high), list(self.bins))

    def decode(self, index: int) -> Any:
        """The middle of the bin."""
        return self._array(index, lambda place, count: (place + 0.5) / count)

    def _array(self, index: int, share: Any) -> Any:
        import numpy as np

        places = _split([Whole(count) for count in self.bins], index)
        values = [
            low + (high - low) * share(place, count)
            for low, high, place, count in zip(self.low, self.high, places, self.bins, strict=True)
        ]
        return np.array(values).astype(self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class Levels(Binned):
    """A `Box` of actions: evenly spaced values, the lowest and the highest among them."""

    def decode(self, index: int) -> Any:
        """The value of the level; the middle where there is only one."""
        return self._array(index, lambda place, n: 0.5 if n == 1 else place / (n - 1))


@dataclass(frozen=True)
class Sequenced:
    """`Tuple`: parts in order."""

    parts: tuple[Codec, ...]

    @property
    def size(self) -> int:
        """The product of the parts' sizes."""
        return math.prod(part.size for part in self.parts)

    def encode(self, value: Any) -> int:
        """The number whose digits are the parts."""
        return _join(self.parts, list(value))

    def decode(self, index: int) -> Any:
        """The parts as a tuple."""
        return tuple(_split(self.parts, index))


@dataclass(frozen=True)
class Named:
    """`Dict`: parts by name, in the order of the space."""

    names: tuple[str, ...]
    parts: tuple[Codec, ...]

    @property
    def size(self) -> int:
        """The product of the parts' sizes."""
        return math.prod(part.size for part in self.parts)

    def encode(self, value: Any) -> int:
        """The number whose digits are the parts."""
        return _join(self.parts, [value[name] for name in self.names])

    def decode(self, index: int) -> Any:
        """The parts as a dict."""
        return dict(zip(self.names, _split(self.parts, index), strict=True))


def _join(parts: Sequence[Codec], values: Sequence[Any]) -> int:
    """The number whose digits are the parts of a value."""
    index = 0
    for part, value in zip(parts, values, strict=True):
        index = index * part.size + part.encode(value)
    return index


def _split(parts: Sequence[Codec], index: int) -> list[Any]:
    """The parts of a value from the number that they make."""
    values: list[Any] = []
    for part in reversed(parts):
        index, digit = divmod(index, part.size)
        values.append(part.decode(digit))
    return values[::-1]


def _flat(value: Any, length: int) -> list[Any]:
    """The entries of an array of any shape, one after the other."""
    found: list[Any] = []
    waiting = [value.tolist() if hasattr(value, "tolist") else value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (list, tuple)):
            waiting.extend(reversed(part))
        else:
            found.append(part)
    if len(found) != length:
        raise InvalidArgument(
            f"The environment gave {len(found)} values where its space has {length}."
        )
    return found
