"""Gymnasium spaces as codecs, and as the states and actions of an agent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plaudit.errors import InvalidArgument, UnsupportedSpace
from plaudit.gym.codecs import Binned, Codec, Digits, Levels, Named, Sequenced, Whole

if TYPE_CHECKING:
    from gymnasium import Space as GymSpace

DEFAULT_BINS = 8
MOST_BY_DEFAULT = 4096
_ENDLESS = 1e15  # a bound beyond it is none: some environments write the largest float


@dataclass(frozen=True)
class Cut:
    """How numbers are cut into bins. Missing values come from the space."""

    bins: int | Sequence[int] | None = None
    low: float | Sequence[float] | None = None
    high: float | Sequence[float] | None = None
    action_bins: int | Sequence[int] | None = None


def state_codec(space: GymSpace[Any], cut: Cut) -> Codec:
    """Observations as whole numbers."""
    return _codec(space, cut, "observation space")


def action_codec(space: GymSpace[Any], cut: Cut) -> Codec:
    """Actions as whole numbers; continuous ones only where ``action_bins`` asks for it."""
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        if cut.action_bins is None:
            raise UnsupportedSpace(
                f"The action space {space} is continuous, and agents choose among a number of "
                "actions. Pass action_bins=5 (or one number for each dimension) to choose among "
                "evenly spaced values, or wrap the environment with discrete actions."
            )
        low, high = bounds(space, Cut(), "action space")
        levels = counts(cut.action_bins, len(low), "action_bins")
        return Levels(space.shape, low, high, levels, space.dtype)
    return _codec(space, Cut(bins=cut.action_bins), "action space")


def _codec(space: GymSpace[Any], cut: Cut, place: str) -> Codec:
    """The codec of a space; ``place`` names it in errors."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return Whole(int(space.n), int(space.start))
    if isinstance(space, spaces.MultiDiscrete):
        pairs = zip(space.nvec.ravel().tolist(), space.start.ravel().tolist(), strict=True)
        parts = tuple(Whole(n, start) for n, start in pairs)
        return Digits(space.nvec.shape, parts, space.dtype)
    if isinstance(space, spaces.MultiBinary):
        return Digits(space.shape, (Whole(2),) * math.prod(space.shape), space.dtype)
    if isinstance(space, spaces.Tuple):
        inner = (_codec(part, cut, f"{place}[{i}]") for i, part in enumerate(space.spaces))
        return Sequenced(tuple(inner))
    if isinstance(space, spaces.Dict):
        named = {name: _codec(part, cut, f"{place}[{name!r}]") for name, part in space.items()}
        return Named(tuple(named), tuple(named.values()))
    if isinstance(space, spaces.Box):
        low, high = bounds(space, cut, place)
        return Binned(space.shape, low, high, counts(cut.bins, len(low), "bins"), space.dtype)
    raise UnsupportedSpace(
        f"The {place} {space} has no fixed number of values. Agents take Discrete, MultiDiscrete, "
        "MultiBinary, Box, and Tuple and Dict of these: wrap the environment "
        "(gymnasium.ObservationWrapper) so that it gives one of them."
    )


def bounds(space: Any, cut: Cut, place: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The bounds of a Box, those that the user gave before its own."""
    lowest, highest = open_bounds(space, cut)
    low = [x for x in lowest if x is not None]
    high = [x for x in highest if x is not None]
    if min(len(low), len(high)) < len(lowest):
        endless = [
            str(i) for i, pair in enumerate(zip(lowest, highest, strict=True)) if None in pair
        ]
        raise UnsupportedSpace(
            f"The {place} has no bounds in dimension {', '.join(endless)}. Say between which "
            f"values it matters, one for each of its {len(lowest)} dimensions: "
            f"low={_example(lowest, -1.0)}, high={_example(highest, 1.0)}. Values outside count to "
            "the edge."
        )
    return tuple(low), tuple(high)


def open_bounds(space: Any, cut: Cut) -> tuple[list[float | None], list[float | None]]:
    """The bounds of a Box, None where a number has no bound."""
    size = math.prod(space.shape)
    low = _numbers(cut.low, space.low.ravel().tolist(), size, "low")
    high = _numbers(cut.high, space.high.ravel().tolist(), size, "high")
    if any(first >= last for first, last in zip(low, high, strict=True)):
        raise InvalidArgument(f"Each low must be below its high: low={low}, high={high}.")
    lowest = [x if x > -_ENDLESS else None for x in low]
    return lowest, [x if x < _ENDLESS else None for x in high]


def counts(given: int | Sequence[int] | None, size: int, name: str) -> tuple[int, ...]:
    """The number of bins of each dimension."""
    if given is None:
        if DEFAULT_BINS**size > MOST_BY_DEFAULT:
            raise UnsupportedSpace(
                f"The {size} numbers of an observation in {DEFAULT_BINS} bins each are "
                f"{DEFAULT_BINS}^{size} states. Pass {name}=[…] with a few bins for each number, "
                'or algorithm="smooth", which takes the numbers as they are.'
            )
        given = DEFAULT_BINS
    return tuple(int(count) for count in _numbers(given, [], size, name))


def _numbers(given: Any, default: list[float], size: int, name: str) -> list[float]:
    """One number for each dimension; a single one is for all."""
    if given is None:
        return default
    values = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(values, (list, tuple)):
        return [values] * size
    if len(values) != size:
        raise InvalidArgument(f"{name} has {len(values)} numbers. Give one, or {size}.")
    return list(values)


def _example(values: Sequence[float | None], instead: float) -> str:
    return str([instead if x is None else round(x, 3) for x in values])
