"""Build feature maps from the feature specifications that clients write."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidValue
from app.learning.arrays import Floats, Integers
from app.learning.features.automaton import Automaton
from app.learning.features.base import FeatureMap
from app.learning.features.events import SIZES, PathEvent, PathEvents
from app.learning.features.one_hot import OneHot
from app.learning.features.table import Table
from app.learning.spaces import Spaces
from app.wire.specification.features import (
    AutomatonFeatures,
    EventFeature,
    EventsFeatures,
    Features,
    LastSteps,
    OneHotFeatures,
    TableFeatures,
)


def build_features(features: Features, spaces: Spaces) -> FeatureMap | None:
    """Build the feature map of a specification; None for `auto`, where the agent chooses."""
    match features:
        case OneHotFeatures():
            return build_one_hot(features, spaces)
        case TableFeatures():
            return Table(spaces, _values(features))
        case AutomatonFeatures():
            return _automaton(features, spaces)
        case EventsFeatures():
            places = [f"features.events.{i}" for i in range(len(features.events))]
            return PathEvents(spaces, tuple(map(_event, features.events, places)))
    return None


def build_one_hot(features: OneHotFeatures, spaces: Spaces) -> OneHot:
    """Build the one-hot map of a specification."""
    parts = set(features.over)
    steps = _chosen_steps(features, spaces.horizon)
    return OneHot(spaces, "step" in parts, "state" in parts, "action" in parts, steps)


def _chosen_steps(features: OneHotFeatures, horizon: int) -> tuple[int, ...]:
    match features.steps:
        case "all":
            return tuple(range(horizon))
        case "last":
            return (horizon - 1,)
        case LastSteps(last=last):
            if last > horizon:
                raise InvalidValue("features.steps.last", f"at most the horizon, {horizon}")
            return tuple(range(horizon - last, horizon))
        case steps:
            return tuple(sorted(steps))


def _values(features: TableFeatures) -> Floats:
    """The values as an array; Table checks its shape."""
    values = _array("features.values", features.values, "iuf")
    if values.ndim < 3:
        raise InvalidValue("features.values", "shape (S, A, d) or (H, S, A, d)")
    return values.astype(np.float64)


def _automaton(features: AutomatonFeatures, spaces: Spaces) -> Automaton:
    """The automaton of a specification; Automaton checks its shapes."""
    vectors = _array("features.vectors", features.vectors, "iuf").astype(np.float64)
    ends = None if features.ends is None else _whole("features.ends", features.ends)
    return Automaton(spaces, _whole("features.transitions", features.transitions), vectors, ends)


def _whole(field: str, nested: list[Any]) -> Integers:
    return _array(field, nested, "i", "whole numbers").astype(np.int64)


def _array(field: str, nested: list[Any], kinds: str, numbers: str = "numbers") -> NDArray[Any]:
    """Nested lists as an array of one of these NumPy kinds."""
    expected = f"nested lists of {numbers}, none ragged"
    try:
        values = np.array(nested)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidValue(field, expected) from error
    if values.dtype.kind not in kinds:  # NumPy also converts texts and null
        raise InvalidValue(field, expected)
    return values


def _event(event: EventFeature, place: str) -> PathEvent:
    """Build one event; ``place`` is the path of the entry in the client's request."""
    given = [kind for kind in SIZES if getattr(event, kind) is not None]
    if len(given) != 1:
        raise InvalidValue(place, f"exactly one of {', '.join(SIZES)}")
    states = getattr(event, given[0])
    states = states if isinstance(states, tuple) else (states,)
    if not all(isinstance(state, int) for state in states):
        raise InvalidValue(f"{place}.{given[0]}", "numbers of states")
    try:
        return PathEvent(given[0], states)
    except InvalidValue as error:
        raise InvalidValue(f"{place}.{error.field}", error.expected) from error
