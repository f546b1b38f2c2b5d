"""The interface of a policy: it picks an action at every step of an episode."""

from __future__ import annotations

from typing import ClassVar, Protocol

from app.learning.arrays import Arrays


class Policy(Protocol):
    """Picks actions: state and memory in, action and memory out.

    ``memory`` is the policy's state within an episode, a tuple of integers that is empty at the
    start; ``uniform`` is the random number in [0, 1) of this step. ``kind`` names the
    class in the registry of `policies`, so that a policy can be restored from its arrays.
    """

    kind: ClassVar[str]

    def act(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float
    ) -> tuple[int, tuple[int, ...]]:
        """The action at ``step`` in ``state``, and the memory for the next step."""
        ...

    def follow(
        self, step: int, state: int, memory: tuple[int, ...], uniform: float, action: int
    ) -> tuple[int, ...]:
        """The memory for the next step where ``action`` was done, whoever chose it.

        For the action that ``act`` picks it is the memory that ``act`` gives.
        """
        ...

    def branches(
        self, step: int, state: int, memory: tuple[int, ...]
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """Every (probability, action, memory) that ``act`` can give."""
        ...

    def arrays(self) -> Arrays:
        """The policy as named arrays, for storage."""
        ...
