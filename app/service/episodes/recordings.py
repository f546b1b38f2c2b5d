"""Recordings of episodes: what a camera or a simulator saw, for the people who judge."""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import InvalidValue, NotFound
from app.service.runtime.cache import Cache
from app.service.runtime.ids import read_episode_id
from app.storage.commands.recordings import DropRecording, PutRecording
from app.storage.database import Database, now_milliseconds
from app.storage.queries import recordings

MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "video/mp4", "video/webm")


@dataclass(frozen=True)
class Recording:
    """What is known of a recording beside its content."""

    media_type: str
    size: int
    at: int


def media_type_of(content: bytes) -> str | None:
    """What a file is by its first bytes, whatever it calls itself; None for what is not taken."""
    found: str | None = None
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        found = "image/png"
    elif content.startswith(b"\xff\xd8\xff"):
        found = "image/jpeg"
    elif content.startswith((b"GIF87a", b"GIF89a")):
        found = "image/gif"
    elif content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        found = "image/webp"
    elif content[4:8] == b"ftyp" and content[8:12] not in (b"avif", b"heic", b"qt  "):
        found = "video/mp4"
    elif content.startswith(b"\x1a\x45\xdf\xa3") and b"webm" in content[:64]:
        found = "video/webm"
    return found


class Recordings:
    """One recording for each episode at most."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self._database = database
        self._cache = cache

    async def put(self, episode: str, content: bytes) -> Recording:
        """Attach a recording to an episode, in place of the one that it had."""
        media_type = media_type_of(content)
        if media_type is None:
            raise InvalidValue("body", f"one of {', '.join(MEDIA_TYPES)}")
        hosted = await self._cache.episode(episode)
        recording = Recording(media_type, len(content), now_milliseconds())
        await self._database.commit(
            PutRecording(
                hosted.agent.number,
                hosted.number,
                media_type,
                recording.size,
                content,
                recording.at,
            )
        )
        return recording

    async def find(self, episode: str) -> Recording | None:
        """What is known of the recording of an episode, if it has one."""
        await self._cache.episode(episode)
        row = await self._database.read(recordings.recording_row, *read_episode_id(episode))
        return None if row is None else Recording(row.media_type, row.size, row.at)

    async def read(self, episode: str, first: int, length: int) -> bytes:
        """Some of its bytes."""
        content = await self._database.read(
            recordings.recording_part, *read_episode_id(episode), first, length
        )
        if content is None:
            raise NotFound("recording", episode, "of episode")
        return content

    async def drop(self, episode: str) -> None:
        """Take the recording of an episode away."""
        if await self.find(episode) is None:
            raise NotFound("recording", episode, "of episode")
        agent, number = read_episode_id(episode)
        await self._database.commit(DropRecording(agent, number))
