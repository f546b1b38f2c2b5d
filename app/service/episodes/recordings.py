"""Recordings: a picture or a video of an episode, for the people who judge it."""

from __future__ import annotations

from dataclasses import dataclass

from app.errors import InvalidValue, NotFound
from app.service.runtime.cache import Cache
from app.service.runtime.ids import read_episode_id
from app.storage.commands.recordings import DropRecording, PutRecording
from app.storage.database import Database, now_milliseconds
from app.storage.queries import recordings

MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "video/mp4", "video/webm")
_STARTS = (
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF87a"),
    ("image/gif", b"GIF89a"),
)
# Major brands of ISO media files that are images, sound or QuickTime.
_NOT_VIDEO = (b"avif", b"avis", b"heic", b"heix", b"mif1", b"msf1", b"M4A ", b"M4B ", b"qt  ")
_WEBM_DOCTYPE = b"\x42\x82\x84webm"  # the element DocType of EBML, with its length


@dataclass(frozen=True)
class Recording:
    """A recording without its content. ``at`` is in milliseconds since 1970."""

    media_type: str
    size: int
    at: int


# No library is used: `filetype` 1.2 refuses fragmented MP4 and animated PNG and checks fewer bytes
# of PNG and GIF, `puremagic` 1.30 fails on several brands of MP4.
def media_type_of(content: bytes) -> str | None:
    """Detect the media type of a file from its first bytes; None for a type that is not taken."""
    for media_type, start in _STARTS:
        if content.startswith(start):
            return media_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if content[4:8] == b"ftyp" and content[8:12] not in _NOT_VIDEO:
        return "video/mp4"
    if content.startswith(b"\x1a\x45\xdf\xa3") and _WEBM_DOCTYPE in content[:64]:
        return "video/webm"
    return None


class Recordings:
    """Stores at most one recording for each episode."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self._database = database
        self._cache = cache

    async def put(self, episode: str, content: bytes) -> Recording:
        """Attach a recording to an episode, replacing an earlier one."""
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
        """The recording of an episode without its content; None if it has none."""
        await self._cache.episode(episode)
        row = await self._database.read(recordings.recording_row, *read_episode_id(episode))
        return None if row is None else Recording(row.media_type, row.size, row.at)

    async def read(self, episode: str, first: int, length: int) -> bytes:
        """Some bytes of a recording, from ``first`` on."""
        content = await self._database.read(
            recordings.recording_part, *read_episode_id(episode), first, length
        )
        if content is None:
            raise NotFound("recording", episode, "of episode")
        return content

    async def drop(self, episode: str) -> None:
        """Delete the recording of an episode."""
        if await self.find(episode) is None:
            raise NotFound("recording", episode, "of episode")
        agent, number = read_episode_id(episode)
        await self._database.commit(DropRecording(agent, number))
