"""Build feature maps from the feature specifications that clients write."""

from __future__ import annotations

import numpy as np

from app.errors import InvalidValue
from app.learning.arrays import Floats
from app.learning.features.base import FeatureMap
from app.learning.features.events import SIZES, Event, Events
from app.learning.features.one_hot import OneHot
from app.learning.features.table import Table
from app.learning.spaces import Spaces
from app.wire.features import (
    EventFeature,
    EventsFeatures,
    Features,
    LastSteps,
    OneHotFeatures,
    TableFeatures,
)

_NESTED = "nested lists of numbers, none ragged"


def build_features(features: Features, spaces: Spaces) -> FeatureMap | None:
    """The feature map of a specification over these spaces; None for `auto`, which names none."""
    match features:
        case OneHotFeatures():
            return build_one_hot(features, spaces)
        case TableFeatures():
            return Table(spaces, _values(features))
        case EventsFeatures():
            places = [f"features.events.{i}" for i in range(len(features.events))]
            return Events(spaces, tuple(map(_event, features.events, places)))
    return None


def build_one_hot(features: OneHotFeatures, spaces: Spaces) -> OneHot:
    """The one-hot map of a specification."""
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
    try:
        values = np.array(features.values)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidValue("features.values", _NESTED) from error
    if values.dtype.kind not in "iuf":  # NumPy also converts texts and null
        raise InvalidValue("features.values", _NESTED)
    if values.ndim < 3:
        raise InvalidValue("features.values", "shape (S, A, d) or (H, S, A, d)")
    return values.astype(np.float64)


def _event(event: EventFeature, place: str) -> Event:
    """The event of one entry; ``place`` is where the client wrote it."""
    given = [kind for kind in SIZES if getattr(event, kind) is not None]
    if len(given) != 1:
        raise InvalidValue(place, f"exactly one of {', '.join(SIZES)}")
    states = getattr(event, given[0])
    states = states if isinstance(states, tuple) else (states,)
    if not all(isinstance(state, int) for state in states):
        raise InvalidValue(f"{place}.{given[0]}", "numbers of states")
    try:
        return Event(given[0], states)
    except InvalidValue as error:
        raise InvalidValue(f"{place}.{error.field}", error.expected) from error
