"""Recordings: a picture or a video of an episode, for the people who judge it.

The content is a blob, which is durable before the row that names it is stored.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from app.errors import Forbidden, InvalidValue, NotFound, PlauditError, Stale
from app.service.access.keys import Caller, Role
from app.service.episodes.media_types import MEDIA_TYPES, media_type_of
from app.service.runtime.cache import Cache
from app.service.runtime.ids import read_episode_id
from app.storage.blobs.base import BlobReader, BlobStore, BlobWriter
from app.storage.blobs.recordings import agent_of, agent_prefix, new_recording_name
from app.storage.commands.recordings import DropRecording, PutRecording
from app.storage.database import Database, now_milliseconds
from app.storage.queries import episodes, recordings

log = logging.getLogger(__name__)

P = ParamSpec("P")
Result = TypeVar("Result")

GRACE_SECONDS = 3600.0  # until a blob without a row counts as an orphan
_CHUNK_BYTES = 1_000_000  # written or read at once
_AGENTS_AT_ONCE = 500
_OPERATE = frozenset({Role.operator})


@dataclass(frozen=True)
class Recording:
    """A recording without its content. ``at`` is in milliseconds since 1970."""

    media_type: str
    size: int
    blob: str
    at: int


class Recordings:
    """Stores at most one recording for each episode."""

    def __init__(self, database: Database, cache: Cache, blobs: BlobStore) -> None:
        self._database = database
        self._cache = cache
        self._blobs = blobs
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="blobs")

    async def put(self, episode: str, content: AsyncIterator[bytes], caller: Caller) -> Recording:
        """Attach a recording to an episode, replacing an earlier one.

        Only the key that started the episode, an operator or an admin replaces one.
        """
        hosted = await self._cache.episode(episode)
        agent, number = hosted.agent.number, hosted.number
        may_replace = await self._may_replace(agent, number, caller)
        if not may_replace:
            await self._refuse_replacement(agent, number)
        blob = new_recording_name(agent, number)
        media_type, size = await self._write(blob, content)
        at = now_milliseconds()
        try:
            replaced = await self._database.commit(
                PutRecording(agent, number, media_type, size, blob, at, may_replace)
            )
        except Stale:
            await self._delete(blob)
            await self._cache.episode(episode)  # raises NotFound if it was deleted
            raise
        if replaced is not None:
            await self._delete(replaced)
        return Recording(media_type, size, blob, at)

    async def find(self, episode: str) -> Recording:
        """The recording of an episode without its content."""
        await self._cache.episode(episode)
        row = await self._database.read(recordings.recording_row, *read_episode_id(episode))
        if row is None:
            raise NotFound("recording", episode, "of episode")
        return Recording(row.media_type, row.size, row.blob, row.at)

    async def stream(
        self, episode: str, recording: Recording, first: int, length: int
    ) -> AsyncIterator[bytes]:
        """Open a recording and return the chunks of a part of it, even if it is then deleted."""
        blob = self._blobs.open(recording.blob)
        try:
            reader = await self._run(blob.__enter__)
        except NotFound as error:
            log.warning("a recording has no file", extra={"episode": episode})
            raise NotFound("recording", episode, "of episode") from error
        return self._chunks(blob, reader, first, length)

    async def drop(self, episode: str, caller: Caller) -> None:
        """Delete the recording of an episode. The keys that can replace it can also delete it."""
        await self.find(episode)
        agent, number = read_episode_id(episode)
        if not await self._may_replace(agent, number, caller):
            await self._refuse_replacement(agent, number)
        blob = await self._database.commit(DropRecording(agent, number))
        if blob is not None:
            await self._delete(blob)

    async def drop_all(self, agent: int) -> None:
        """Delete the files of every recording of a deleted agent, before its rows."""
        for blob in await self._run(lambda: list(self._blobs.list(agent_prefix(agent)))):
            await self._run(self._blobs.delete, blob.name)

    async def sweep(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """Delete orphans: blobs that no row names, which a crash left.

        Blobs of unknown agents are kept, because the folder may belong to another database by
        mistake.
        """
        before = time.time() - grace_seconds
        await self._run(self._blobs.discard_unfinished, before)
        found = await self._run(self._old_blobs, before)
        orphans = 0
        for start in range(0, len(found), _AGENTS_AT_ONCE):
            agents = list(found)[start : start + _AGENTS_AT_ONCE]
            named = await self._database.read(recordings.blobs_of_agents, agents)
            for orphan in [blob for agent in named for blob in found[agent] - named[agent]]:
                await self._run(self._blobs.delete, orphan)
                orphans += 1
        if orphans:
            log.info("orphaned recordings deleted", extra={"files": orphans})

    async def close(self) -> None:
        """End the threads."""
        await asyncio.to_thread(self._threads.shutdown)

    async def _may_replace(self, agent: int, episode: int, caller: Caller) -> bool:
        if caller.may(_OPERATE):
            return True
        return await self._database.read(episodes.started_by, agent, episode) == caller.key

    async def _refuse_replacement(self, agent: int, episode: int) -> None:
        if await self._database.read(recordings.recording_row, agent, episode) is not None:
            raise Forbidden(
                "The episode has a recording. Only the key that started the episode, an operator "
                "or an admin may replace or delete it."
            )

    async def _write(self, blob: str, content: AsyncIterator[bytes]) -> tuple[str, int]:
        """Write a blob as its content arrives; its media type and size."""
        chunks = _merged(content)
        first = await anext(chunks, b"")
        media_type = media_type_of(first)
        if media_type is None:
            raise InvalidValue("body", f"one of {', '.join(MEDIA_TYPES)}")
        writer = await self._run(self._blobs.create, blob)
        try:
            await self._run(writer.write, first)
            size = len(first) + await self._write_rest(writer, chunks)
            await self._run(writer.commit)
        finally:
            await self._run(writer.abort)
        return media_type, size

    async def _write_rest(self, writer: BlobWriter, chunks: AsyncIterator[bytes]) -> int:
        size = 0
        async for chunk in chunks:
            await self._run(writer.write, chunk)
            size += len(chunk)
        return size

    async def _chunks(
        self, blob: AbstractContextManager[BlobReader], reader: BlobReader, first: int, length: int
    ) -> AsyncIterator[bytes]:
        try:
            for place in range(first, first + length, _CHUNK_BYTES):
                rest = first + length - place
                yield await self._run(reader.read, place, min(rest, _CHUNK_BYTES))
        finally:
            blob.__exit__(None, None, None)

    async def _delete(self, blob: str) -> None:
        """Delete a blob that no row names; if that fails, it is an orphan and swept later."""
        try:
            await self._run(self._blobs.delete, blob)
        except PlauditError as error:
            log.warning("a recording was not deleted", extra={"reason": str(error)})

    def _old_blobs(self, before: float) -> dict[int, set[str]]:
        """The names of recordings from before a time, by agent."""
        found: dict[int, set[str]] = defaultdict(set)
        for blob in self._blobs.list():
            agent = agent_of(blob.name)
            if agent is not None and blob.modified_at < before:
                found[agent].add(blob.name)
        return found

    async def _run(self, call: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """Run a blocking call in a thread of the blobs."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: call(*args, **kwargs))


async def _merged(content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Merge small chunks, so that each costs one change of threads."""
    merged = bytearray()
    async for chunk in content:
        merged += chunk
        if len(merged) >= _CHUNK_BYTES:
            yield bytes(merged)
            merged.clear()
    if merged:
        yield bytes(merged)
