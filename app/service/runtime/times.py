"""Stored times as datetimes. The database keeps whole milliseconds since 1970 (UTC)."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(milliseconds: int) -> datetime:
    """A stored time as a datetime in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def moment_or_none(milliseconds: int | None) -> datetime | None:
    """A stored time that may be missing."""
    return None if milliseconds is None else moment(milliseconds)
