"""Steps are appended to a journal first and filed by episode later.

A row at its place among an episode's steps dirties a page of its own, and a commit writes whole
pages: with many episodes side by side that is most of what a step costs. The journal's last page
takes them all. Filing moves the oldest rows to their places, many of an episode at a time, in one
transaction with their removal: a step is always in exactly one of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CompoundSelect, select, union_all

from app.storage import writes
from app.storage.tables import journal, steps
from app.storage.writer import Write

SLICE = 1000  # steps filed at a time: some milliseconds


def all_steps(agent: int, episodes: Sequence[int]) -> CompoundSelect[*tuple[Any, ...]]:
    """The steps of some episodes of an agent, filed or not."""
    parts = []
    for table in (steps, journal):
        columns = [table.c[column.name] for column in steps.c]
        parts.append(select(*columns).where(table.c.agent == agent, table.c.episode.in_(episodes)))
    return union_all(*parts)


def filing(most: int = SLICE) -> list[Write]:
    """The writes that file the oldest steps of the journal."""
    return [
        Write(writes.FILE_STEPS, {"most": most}),
        Write(writes.DROP_FILED, {"most": most}),
    ]
