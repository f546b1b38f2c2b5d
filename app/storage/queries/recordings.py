"""Queries of recordings."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from app.storage.rows import RecordingRow, columns_of, typed_or_none
from app.storage.schema import recordings


def recording_row(connection: Connection, agent: int, episode: int) -> RecordingRow | None:
    """What is known of the recording of an episode, without its content."""
    query = select(*columns_of(RecordingRow, recordings))
    query = query.where(recordings.c.agent == agent, recordings.c.episode == episode)
    return typed_or_none(RecordingRow, connection.execute(query).one_or_none())


def recording_part(
    connection: Connection, agent: int, episode: int, first: int, length: int
) -> bytes | None:
    """Some bytes of a recording, from the byte ``first`` on."""
    part = func.substr(recordings.c.content, first + 1, length, type_=recordings.c.content.type)
    query = select(part).where(recordings.c.agent == agent, recordings.c.episode == episode)
    found: bytes | None = connection.execute(query).scalar()
    return found
