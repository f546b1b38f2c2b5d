"""The sizes of a task: its states, actions and horizon."""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import InvalidValue


@dataclass(frozen=True)
class Spaces:
    """S states, A actions, horizon H."""

    states: int
    actions: int
    horizon: int

    def __post_init__(self) -> None:
        for field in ("states", "actions", "horizon"):
            if getattr(self, field) < 1:
                raise InvalidValue(field, "at least 1")

    @property
    def shape(self) -> tuple[int, int, int]:
        """(H, S, A), the shape of a table with one number for each step, state and action."""
        return (self.horizon, self.states, self.actions)
