"""Numbers, times and states as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from app.service.agents.spaces import BoxCodec, action_codec, state_codec
from app.wire.agents import Specification

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
MODES = {"learn": "explore", "exploit": "exploit", "imported": "imported"}


def percent(share: float | None) -> str:
    """A share, such as 63 %; a dash where there is none."""
    return "\N{EN DASH}" if share is None else f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def signed(value: float) -> str:
    """A number with its sign, so that nobody needs colours to tell."""
    text = f"{abs(value):.2f}"
    if float(text) == 0:
        return "0.00"
    return f"{'+' if value > 0 else MINUS}{text}"


def seconds(value: float | None) -> str:
    """How long something took."""
    if value is None:
        return "\N{EN DASH}"
    if value < 1:
        return f"{1000 * value:.0f}\N{NO-BREAK SPACE}ms"
    return f"{value:.1f}\N{NO-BREAK SPACE}s"


def when(milliseconds: int) -> str:
    """A stored time."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def label_word(label: int | None) -> str:
    """A verdict in words."""
    return {None: "no label", 0: "bad", 1: "good"}[label]


class Names:
    """What the states and actions of an agent are called."""

    def __init__(self, specification: Specification, display: Mapping[str, Any] | None) -> None:
        self._states = state_codec(specification.states)
        self._actions = action_codec(specification.actions)
        self._given = display["values"] if display and display["kind"] == "names" else ()
        self._columns = display["cols"] if display and display["kind"] == "grid" else 0

    def state(self, index: int) -> str:
        """A state by its index."""
        if index < len(self._given):
            return str(self._given[index])
        if isinstance(self._states, BoxCodec):
            return self.observation(self._states.decode(index))
        value = str(self._states.decode(index))
        if self._columns:
            row, column = divmod(index, self._columns)
            return f"{value} (row {row + 1}, column {column + 1})"
        return value

    def observation(self, numbers: list[float]) -> str:
        """Numbers that were observed."""
        shown = [f"{x:.3g}" for x in numbers[:8]] + ["\N{HORIZONTAL ELLIPSIS}"] * (len(numbers) > 8)
        return f"({', '.join(shown)})"

    def action(self, index: int) -> str:
        """An action by its index."""
        return str(self._actions.decode(index))


def words() -> dict[str, Any]:
    """What templates write with."""
    return {
        "percent": percent,
        "signed": signed,
        "seconds": seconds,
        "when": when,
        "label_word": label_word,
        "statuses": STATUSES,
        "learning_words": LEARNING,
        "modes": MODES,
    }
