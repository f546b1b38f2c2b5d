"""The interface of a policy: it picks an action at every step of an episode."""

from __future__ import annotations

from typing import ClassVar, Protocol

from app.learning.arrays import Arrays


class Policy(Protocol):
    """What acts: memory in, action and memory out.

    ``memory`` is what the policy remembers of the episode so far (a tuple of integers, empty at
    the start); ``uniform`` is one number in [0, 1) that belongs to this step. ``kind`` names the
    class in the registry of `policies`, so that arrays can become a policy again.
    """

    kind: ClassVar[str]

    def act(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float
    ) -> tuple[int, tuple[int, ...]]:
        """The action at ``step`` in ``state``, and the memory for the next step."""
        ...

    def branches(
        self, step: int, state: int, memory: tuple[int, ...]
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """Every (probability, action, memory) that ``act`` can give."""
        ...

    def arrays(self) -> Arrays:
        """Everything the policy knows, as plain arrays."""
        ...
