"""Verdicts: what people say of an episode, and what that comes to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

TIMEOUT = "timeout"  # the labeller of a label that nobody gave in time


@dataclass(frozen=True)
class Verdict:
    """A label, and who gave it."""

    label: int
    labeller: str | None = None
    comment: str | None = None
    at: int = 0  # milliseconds, once it is stored


def in_force(rows: Iterable[Any]) -> dict[int, Verdict]:
    """The verdicts that hold, by voice, from the history of an episode's labels, oldest first."""
    found: dict[int, Verdict] = {}
    for row in rows:
        if row.label is None:
            found.pop(row.voice, None)
        else:
            found[row.voice] = Verdict(row.label, row.labeller, row.comment, row.at)
    return dict(sorted(found.items()))


def majority(verdicts: Collection[Verdict]) -> int:
    """The label that several verdicts come to: good only when more than half say so."""
    return int(2 * sum(verdict.label for verdict in verdicts) > len(verdicts))
