"""Commands on recordings."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete

from app.storage.schema import recordings
from app.storage.upsert import insert_or_update


@dataclass(frozen=True, slots=True)
class PutRecording:
    """Attach a recording to an episode, replacing an earlier one."""

    agent: int
    episode: int
    media_type: str
    size: int
    content: bytes
    at: int

    def apply(self, connection: Connection) -> None:
        """Insert or replace the row."""
        replaced = ["media_type", "size", "content", "at"]
        insert_or_update(connection, recordings, asdict(self), replaced)


@dataclass(frozen=True, slots=True)
class DropRecording:
    """Remove the recording of an episode."""

    agent: int
    episode: int

    def apply(self, connection: Connection) -> None:
        """Delete the row."""
        found = recordings.c.agent == self.agent, recordings.c.episode == self.episode
        connection.execute(delete(recordings).where(*found))
