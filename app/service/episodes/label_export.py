"""Export of labels alone, as JSON lines or as CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass, fields

from app.service.labelling.slots import (
    CannotTell,
    GivenLabel,
    cannot_tell_in_force,
    labels_in_force,
)
from app.service.runtime.ids import episode_id
from app.service.runtime.times import moment
from app.storage.rows import EpisodeRow, LabelRow
from app.wire.base import CANNOT_TELL

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # begin what a spreadsheet would compute


@dataclass(frozen=True, slots=True)
class LabelEntry:
    """A label in force, or that a labeller could not tell; ``comment`` is then the reason."""

    episode: str
    external_id: str | None
    mode: str
    label: int | str
    labeller: str | None
    comment: str | None
    at: str
    seconds: float | None  # that the labeller looked at the episode
    guidelines_version: int | None  # that the labeller judged by


def label_entries(row: EpisodeRow, history: Sequence[LabelRow]) -> Iterator[LabelEntry]:
    """The labels and answers in force of an episode."""
    known = episode_id(row.agent, row.number), row.external_id, row.mode.value
    for given in labels_in_force(list(history)).values():
        yield _entry(known, given.label, given.comment, given)
    for answer in cannot_tell_in_force(list(history)).values():
        yield _entry(known, CANNOT_TELL, answer.reason, answer)


def _entry(
    known: tuple[str, str | None, str],
    label: int | str,
    comment: str | None,
    given: GivenLabel | CannotTell,
) -> LabelEntry:
    attention = given.attention
    return LabelEntry(
        *known,
        label,
        given.labeller,
        comment,
        _time(given.at),
        attention.seconds,
        attention.guidelines_version,
    )


async def json_lines(entries: AsyncIterator[LabelEntry]) -> AsyncIterator[str]:
    """One JSON object a line."""
    async for entry in entries:
        yield json.dumps(asdict(entry)) + "\n"


async def csv_lines(entries: AsyncIterator[LabelEntry]) -> AsyncIterator[str]:
    """CSV as of RFC 4180, with a head."""
    yield _csv([field.name for field in fields(LabelEntry)])
    async for entry in entries:
        yield _csv([_safe(value) for value in asdict(entry).values()])


def _csv(values: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue()


def _safe(value: object) -> object:
    """A cell that no spreadsheet takes for a formula."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def _time(milliseconds: int) -> str:
    return moment(milliseconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")
