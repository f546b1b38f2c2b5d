"""States as indices and indices as actions, as the server counts them."""

from __future__ import annotations

import math
from collections.abc import Callable

from plaudit._core.values import plain
from plaudit.answers.agents import Space
from plaudit.answers.values import Action
from plaudit.errors import InvalidArgument


def state_reader(space: Space) -> Callable[[object], int | list[float]]:
    """What turns a state as it is sent into what a policy takes."""
    if space.kind == "discrete":
        return lambda value: _number(plain(value, "state"), space.n or 0)
    if space.kind == "labels":
        places = {name: place for place, name in enumerate(space.values or ())}
        return lambda value: _named(plain(value, "state"), places)
    if space.kind == "box":
        return lambda value: _numbers_or_bin(plain(value, "state"), space)
    raise InvalidArgument(
        f"This client does not know states of the kind {space.kind!r}. Upgrade plaudit-client."
    )


def action_of(space: Space, index: int) -> Action:
    """The action of an index."""
    if space.kind == "labels" and space.values is not None:
        return space.values[index]
    return index


def index_of(space: Space, action: object) -> int:
    """The index of an action as it is sent."""
    value = plain(action, "action")
    if space.kind == "labels" and space.values is not None and value in space.values:
        return space.values.index(str(value))
    if space.kind == "discrete" and type(value) is int and 0 <= value < (space.n or 0):
        return value
    raise InvalidArgument(f"The action is {value!r}, which is not one of the agent's actions.")


def _number(value: object, n: int) -> int:
    if type(value) is int and 0 <= value < n:
        return value
    raise InvalidArgument(f"The state is {value!r}; expected a whole number from 0 to {n - 1}.")


def _named(value: object, places: dict[str, int]) -> int:
    if isinstance(value, str) and value in places:
        return places[value]
    some = ", ".join(map(repr, list(places)[:5]))
    raise InvalidArgument(f"The state is {value!r}; expected one of {some}.")


def _numbers_or_bin(value: object, space: Space) -> int | list[float]:
    low, high = space.low or [], space.high or []
    if (
        not isinstance(value, list)
        or len(value) != len(low)
        or any(type(x) not in (int, float) or not math.isfinite(x) for x in value)
    ):
        raise InvalidArgument(f"The state is {value!r}; expected {len(low)} finite numbers.")
    if space.bins is None:
        return [float(x) for x in value]
    # A space with bins has bounds on every side.
    lowest, highest = [x for x in low if x is not None], [x for x in high if x is not None]
    return bin_of(value, lowest, highest, space.bins)


def bin_of(values: list[float], low: list[float], high: list[float], bins: list[int]) -> int:
    """The index of the bin that numbers lie in, the last dimension fastest."""
    index = 0
    for x, lowest, highest, count in zip(values, low, high, bins, strict=True):
        share = (min(max(x, lowest), highest) - lowest) / (highest - lowest)
        index = index * count + min(int(share * count), count - 1)
    return index
