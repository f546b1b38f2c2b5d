"""Numbers, times, states and statuses in words."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from app.service.agents.spaces import BoxCodec, action_codec, state_codec
from app.wire.agents import AgentView, NewAgent

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


def signed(value: float) -> str:
    """A number with its sign, so that colours are not needed to tell."""
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
        self._given = display.values if display is not None and display.kind == "names" else ()
        self._columns = display.cols if display is not None and display.kind == "grid" else 0

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
        """An observation: at most eight of its numbers."""
        shown = [f"{x:.3g}" for x in numbers[:8]] + ["\N{HORIZONTAL ELLIPSIS}"] * (len(numbers) > 8)
        return f"({', '.join(shown)})"

    def action(self, index: int) -> str:
        """An action by its index."""
        return str(self._actions.decode(index))


def words() -> dict[str, Any]:
    """The functions and words that templates use."""
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
