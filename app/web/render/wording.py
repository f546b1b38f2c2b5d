"""Numbers, times, states and statuses in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from app.service.agents.spaces import BoxCodec, action_codec, state_codec
from app.wire.agents import AgentView, NewAgent
from app.wire.specification.display import (
    Dimension,
    Display,
    GridDisplay,
    LinesDisplay,
    NamesDisplay,
    PicturesDisplay,
    TrackDisplay,
)

MINUS = "\N{MINUS SIGN}"
STATUSES = {
    "running": "running",
    "awaiting_label": "waits for a label",
    "labelled": "labelled",
    "completed": "complete, no label needed",
    "abandoned": "given up",
}
LEARNING = {
    "idle": "up to date",
    "queued": "learning soon",
    "running": "learning now",
    "failed": "learning failed",
}
MODES = {
    "learn": "explore",
    "exploit": "exploit",
    "evaluate": "evaluate",
    "imported": "imported",
}

ACTORS = {
    "client": "done by the client",
    "override": "somebody stepped in",
    "fallback": "fallback action, no policy was ready",
}


def percent(share: float | None) -> str:
    """A share such as 63 %, or a dash for None."""
    return "\N{EN DASH}" if share is None else f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def number(value: float) -> str:
    """A number with three digits."""
    return f"{value:.3g}".replace("-", MINUS)


def signed(value: float) -> str:
    """A number with its sign, so that readers do not depend on colours."""
    text = f"{abs(value):.2f}"
    if float(text) == 0:
        return "0.00"
    return f"{'+' if value > 0 else MINUS}{text}"


def seconds(value: float | None) -> str:
    """A duration, or a dash for None."""
    if value is None:
        return "\N{EN DASH}"
    if value < 1:
        return f"{1000 * value:.0f}\N{NO-BREAK SPACE}ms"
    return f"{value:.1f}\N{NO-BREAK SPACE}s"


def when(moment: datetime) -> str:
    """A time in UTC."""
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def label_word(label: int | None) -> str:
    """A label in words."""
    return {None: "no label", 0: "bad", 1: "good"}[label]


class Names:
    """The names of an agent's states and actions."""

    def __init__(self, agent: AgentView | NewAgent) -> None:
        display = agent.display
        self._states, self._actions = state_codec(agent.states), action_codec(agent.actions)
        self._grid = display if isinstance(display, GridDisplay) else None
        self._state_names = _state_names(display)
        self._action_names = () if display is None else display.actions
        self.dimensions: Sequence[Dimension] = ()
        if isinstance(display, LinesDisplay | TrackDisplay):
            self.dimensions = display.dimensions

    def state(self, index: int) -> str:
        """A state by its index."""
        if index < len(self._state_names):
            return self._state_names[index]
        if isinstance(self._states, BoxCodec):
            return self.observation(self._states.decode(index))
        value = str(self._states.decode(index))
        if self._grid is not None:
            places = self._grid.places
            row, column = divmod(places[index] if places else index, self._grid.cols)
            return f"{value} (row {row + 1}, column {column + 1})"
        return value

    def observation(self, numbers: Sequence[float]) -> str:
        """An observation: at most eight of its numbers."""
        shown = [self._number(i, x) for i, x in enumerate(numbers[:8])]
        shown += ["\N{HORIZONTAL ELLIPSIS}"] * (len(numbers) > 8)
        text = ", ".join(shown)
        return text if self.dimensions else f"({text})"

    def _number(self, i: int, value: float) -> str:
        text = number(value)
        if i >= len(self.dimensions):
            return text
        unit = self.dimensions[i].unit
        return f"{self.dimensions[i].name} {text}" + (f"\N{NO-BREAK SPACE}{unit}" if unit else "")

    def dimension(self, i: int) -> str:
        """One of the observed numbers by its index."""
        return self.dimensions[i].name if i < len(self.dimensions) else f"number {i}"

    def action(self, index: int) -> str:
        """An action by its index."""
        if index < len(self._action_names):
            return self._action_names[index]
        return str(self._actions.decode(index))


def _state_names(display: Display | None) -> Sequence[str]:
    if isinstance(display, NamesDisplay):
        return display.values
    return display.names if isinstance(display, GridDisplay | PicturesDisplay) else ()


def words() -> dict[str, Any]:
    """The functions and words that templates use."""
    return {
        "percent": percent,
        "number": number,
        "signed": signed,
        "seconds": seconds,
        "when": when,
        "label_word": label_word,
        "statuses": STATUSES,
        "learning_words": LEARNING,
        "modes": MODES,
    }
