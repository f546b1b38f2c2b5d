"""Units of work: the changes of one caller, stored together or not at all.

A caller loads what a change depends on, decides in pure code, and submits a unit of work. Its
commands run in the writer's transaction: they check that what they were decided from still holds
(raising `Stale` otherwise), hand out numbers, and return what they stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from sqlalchemy import Connection

Stored = TypeVar("Stored", covariant=True)

StepTuple = tuple[int, int, int, int, int, str | None]
"""agent, episode, step, state, action, observation as JSON: a row of `steps` for the driver."""
StepKey = tuple[int, int, int]
"""agent, episode, step."""


class Command(Protocol[Stored]):
    """A change of the database and what it returns."""

    def apply(self, connection: Connection) -> Stored:
        """Run in the writer's transaction; an error undoes the whole unit of work."""
        ...


class UnitOfWork(NamedTuple, Generic[Stored]):
    """Steps to append, then commands to apply."""

    steps: Sequence[StepTuple] = ()
    commands: Sequence[Command[Stored]] = ()
