"""Changes of episodes: stored before anybody hears of them, undone in memory if they were not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from app.errors import PlauditError
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.runtime.cache import Loaded
from app.storage.database import Database
from app.storage.sqlite.writer import Write


class Changes:
    """Keeps what is in memory of an episode true to what is on disk."""

    def __init__(self, database: Database, loaded: Loaded) -> None:
        self._database = database
        self._loaded = loaded

    async def quiet(self, episode_id: str) -> HostedEpisode:
        """An episode with no write under way."""
        episode = await self._loaded.episode(episode_id)
        while episode.is_unsettled:
            await self.settled(episode)
            episode = await self._loaded.episode(episode_id)
        return episode

    async def settled(self, episode: HostedEpisode) -> None:
        """Until the write under way is on disk, or has failed: then memory is ahead of the disk.

        It is not the failure of who waits here; the episode is to be loaded as it is on disk.
        """
        written = episode.pending
        if written is not None:
            if not written.done():
                await asyncio.wait([written])
            if written.cancelled() or written.exception() is not None:
                self._loaded.forget_episode(episode)

    async def store(self, episode: HostedEpisode, stored: list[Write]) -> None:
        """Store a change; if that fails the episode is what it is on disk."""
        await self.store_together([episode], stored)

    async def store_together(self, episodes: Sequence[HostedEpisode], stored: list[Write]) -> None:
        """Store changes of several episodes at once; either all are stored or none."""
        try:
            written = self._database.writer.submit(stored)
            for episode in episodes:
                episode.pending = written
            await asyncio.shield(written)
        except PlauditError:
            for episode in episodes:
                self._loaded.forget_episode(episode)
            for agent in {episode.agent for episode in episodes}:
                agent.undo(stored)
            raise
