"""Steps are appended to a journal first and filed by episode later.

A row at its place among an episode's steps dirties a page of its own, and a commit writes whole
pages: with many episodes side by side that is most of what a step costs. The journal's last page
takes them all. Filing moves all rows of some of the episodes to their places, in one transaction
with their removal: a step is always in exactly one of the two. Each episode belongs to one of a few
parts, which take turns, so that an episode has come to several rows when its turn comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CompoundSelect, select, union_all

from app.storage import commands
from app.storage.schema import journal, steps
from app.storage.sqlite.writer import Write

PARTS = 8


def all_steps(agent: int, episodes: Sequence[int]) -> CompoundSelect[*tuple[Any, ...]]:
    """The steps of some episodes of an agent, filed or not."""
    parts = []
    for table in (steps, journal):
        columns = [table.c[column.name] for column in steps.c]
        parts.append(select(*columns).where(table.c.agent == agent, table.c.episode.in_(episodes)))
    return union_all(*parts)


def filing(part: int) -> list[Write]:
    """The writes that file the steps of one part of the episodes."""
    which = {"parts": PARTS, "part": part}
    return [Write(commands.FILE_STEPS, which), Write(commands.DROP_FILED, which)]
