"""Commands on recordings."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from app.errors import Stale
from app.storage.schema import agents, episodes, recordings


@dataclass(frozen=True, slots=True)
class PutRecording:
    """Attach a recording, whose blob is stored already, to an episode."""

    agent: int
    episode: int
    media_type: str
    size: int
    blob: str
    at: int
    replace: bool  # an earlier recording

    def apply(self, connection: Connection) -> str | None:
        """Insert the row; returns the blob of the recording that it replaces, if any.

        `Stale` if the episode was deleted, or if it has a recording that must not be replaced.
        """
        _check_exists(connection, self.agent, self.episode)
        replaced = _delete(connection, self.agent, self.episode) if self.replace else None
        connection.execute(
            insert(recordings),
            {
                "agent": self.agent,
                "episode": self.episode,
                "media_type": self.media_type,
                "size": self.size,
                "blob": self.blob,
                "at": self.at,
            },
        )
        return replaced


@dataclass(frozen=True, slots=True)
class DropRecording:
    """Remove the recording of an episode."""

    agent: int
    episode: int

    def apply(self, connection: Connection) -> str | None:
        """Delete the row; returns the blob that it named."""
        return _delete(connection, self.agent, self.episode)


def _check_exists(connection: Connection, agent: int, episode: int) -> None:
    query = (
        select(episodes.c.number)
        .join(agents, agents.c.id == episodes.c.agent)
        .where(
            episodes.c.agent == agent, episodes.c.number == episode, agents.c.deleted_at.is_(None)
        )
    )
    if connection.execute(query).one_or_none() is None:
        raise Stale("the episode was deleted")


def _delete(connection: Connection, agent: int, episode: int) -> str | None:
    found = recordings.c.agent == agent, recordings.c.episode == episode
    blob: str | None = connection.execute(select(recordings.c.blob).where(*found)).scalar()
    connection.execute(delete(recordings).where(*found))
    return blob
