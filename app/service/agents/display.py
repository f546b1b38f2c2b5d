"""Whether a display fits the states and actions of its agent."""

from __future__ import annotations

from app.errors import InvalidValue
from app.wire.agents import Specification
from app.wire.specification.display import (
    Display,
    GridDisplay,
    LinesDisplay,
    NamesDisplay,
    PicturesDisplay,
    TrackDisplay,
)
from app.wire.specification.spaces import Box


def check_display(display: Display, specification: Specification) -> None:
    """Refuse a display that names more states, actions or numbers than there are."""
    states, actions = specification.states, specification.actions
    if len(display.actions) > actions.size:
        raise InvalidValue("display.actions", f"at most {actions.size} names")
    if isinstance(display, LinesDisplay | TrackDisplay):
        if not isinstance(states, Box):
            expected = "grid, names or pictures: this drawing is for states that are numbers (box)"
            raise InvalidValue("display.kind", expected)
        _check_numbers(display, len(states.low))
        return
    if isinstance(states, Box) and states.bins is None:
        raise InvalidValue("display.kind", "lines or track, because states are numbers (box)")
    if isinstance(display, GridDisplay) and display.places and len(display.places) != states.size:
        raise InvalidValue("display.places", f"one square for each of the {states.size} states")
    names = display.values if isinstance(display, NamesDisplay) else display.names
    field = "values" if isinstance(display, NamesDisplay) else "names"
    if len(names) > states.size:
        raise InvalidValue(f"display.{field}", f"at most {states.size} names")
    if isinstance(display, PicturesDisplay) and len(display.values) != states.size:
        raise InvalidValue("display.values", f"one picture for each of the {states.size} states")


def _check_numbers(display: LinesDisplay | TrackDisplay, size: int) -> None:
    if len(display.dimensions) > size:
        raise InvalidValue("display.dimensions", f"at most {size}, one for each number")
    if isinstance(display, TrackDisplay):
        for field in ("x", "y"):
            if getattr(display, field) >= size:
                raise InvalidValue(f"display.{field}", f"a whole number from 0 to {size - 1}")
