"""Encode the states and actions that clients send as indices, and decode them again."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.errors import InvalidValue, shown
from app.wire.specification.spaces import Box, Discrete, Labels


class DiscreteCodec:
    """Whole numbers are their own indices."""

    def __init__(self, space: Discrete) -> None:
        self.size = space.n

    def encode(self, value: object, field: str) -> int:
        """The index of a number."""
        if type(value) is int and 0 <= value < self.size:
            return value
        raise InvalidValue(field, f"a whole number from 0 to {self.size - 1}, got {shown(value)}")

    def decode(self, index: int) -> int | str:
        """The number of an index."""
        return index


class LabelsCodec:
    """The index of a name is its place in the list."""

    def __init__(self, space: Labels) -> None:
        self.size = space.size
        self._names = space.values
        self._indices = {name: index for index, name in enumerate(space.values)}

    def encode(self, value: object, field: str) -> int:
        """The index of a name."""
        index = self._indices.get(value) if isinstance(value, str) else None
        if index is None:
            names = ", ".join(map(repr, self._names[:5])) + (", …" if self.size > 5 else "")
            raise InvalidValue(field, f"one of the names {names}, got {shown(value)}")
        return index

    def decode(self, index: int) -> int | str:
        """The name of an index."""
        return self._names[index]


class BoxCodec:
    """The index of an observation is its bin, the last dimension fastest; 0 without bins."""

    def __init__(self, space: Box) -> None:
        self.size = space.size
        self._dimensions = len(space.low)
        self._bins = tuple(
            (low, high, bins)
            for low, high, bins in zip(space.low, space.high, space.bins or (), strict=False)
            if low is not None and high is not None  # always, where there are bins
        )

    def encode(self, value: object, field: str) -> int:
        """The bin of an observation; numbers outside the bounds count to the bin at the edge."""
        index = 0
        for x, (low, high, bins) in zip(self.observation(value, field), self._bins, strict=False):
            share = (min(max(x, low), high) - low) / (high - low)
            index = index * bins + min(int(share * bins), bins - 1)
        return index

    def observation(self, value: object, field: str) -> list[float]:
        """The numbers of an observation, checked."""
        if (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and len(value) == self._dimensions
            and all(type(x) in (int, float) for x in value)
        ):
            try:
                numbers = [float(x) for x in value]
            except OverflowError:
                numbers = [math.inf]
            if all(math.isfinite(x) for x in numbers):
                return numbers
        given = f"a list of {len(value)}" if isinstance(value, list) else shown(value)
        raise InvalidValue(field, f"a list of {self._dimensions} finite numbers, got {given}")

    def decode(self, index: int) -> list[float]:
        """The middle of a bin."""
        middle: list[float] = []
        for low, high, bins in reversed(self._bins):
            index, place = divmod(index, bins)
            middle.append(low + (place + 0.5) * (high - low) / bins)
        return middle[::-1]


ActionCodec = DiscreteCodec | LabelsCodec
StateCodec = ActionCodec | BoxCodec


def state_codec(space: Discrete | Labels | Box) -> StateCodec:
    """The codec of a state space."""
    return BoxCodec(space) if isinstance(space, Box) else action_codec(space)


def action_codec(space: Discrete | Labels) -> ActionCodec:
    """The codec of an action space."""
    return DiscreteCodec(space) if isinstance(space, Discrete) else LabelsCodec(space)
