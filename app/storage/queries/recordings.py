"""Queries of recordings."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, select

from app.storage.rows import RecordingRow, columns_of, typed_or_none
from app.storage.schema import agents, recordings


def recording_row(connection: Connection, agent: int, episode: int) -> RecordingRow | None:
    """What is known of the recording of an episode, without its content."""
    query = select(*columns_of(RecordingRow, recordings))
    query = query.where(recordings.c.agent == agent, recordings.c.episode == episode)
    return typed_or_none(RecordingRow, connection.execute(query).one_or_none())


def blobs_of_agents(connection: Connection, chosen: Collection[int]) -> dict[int, set[str]]:
    """The blobs that the recordings of some agents name; agents that do not exist are left out."""
    found = connection.execute(select(agents.c.id).where(agents.c.id.in_(chosen))).scalars()
    named: dict[int, set[str]] = {agent: set() for agent in found}
    query = select(recordings.c.agent, recordings.c.blob).where(recordings.c.agent.in_(named))
    for row in connection.execute(query):
        named[row.agent].add(row.blob)
    return named
