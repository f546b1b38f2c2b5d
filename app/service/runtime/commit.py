"""Load, decide, commit: how episodes change.

A change loads its episode, decides in pure code, and commits with the version it was decided from.
If another process was faster, the episode is loaded again and the change is decided again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from app.errors import Stale
from app.service.episodes.hosted_episode import EpisodeUpdate, HostedEpisode, StepDecision
from app.service.runtime.cache import Cache
from app.service.runtime.event_bus import EventBus
from app.storage.commands.log import Logged
from app.storage.commands.steps import RecordStepDetails
from app.storage.database import Database
from app.storage.rows import StepDetail
from app.storage.unit_of_work import Command, UnitOfWork

_ATTEMPTS = 3

Change = tuple[HostedEpisode, StepDecision | None, EpisodeUpdate | None]
"""A decided change of an episode: a step, an update, or both."""


class Commits:
    """Commits changes of episodes, and brings memory up to date with the disk."""

    def __init__(self, database: Database, cache: Cache, events: EventBus) -> None:
        self._writer = database.writer
        self._cache = cache
        self._events = events

    async def settled(self, episode_id: str) -> HostedEpisode:
        """An episode with no commit under way."""
        episode = await self._cache.episode(episode_id)
        while episode.pending is not None and episode.is_changing:
            await asyncio.wait([episode.pending])
            episode = await self._cache.episode(episode_id)
        return episode

    async def change(
        self, episode_id: str, decide: Callable[[HostedEpisode], EpisodeUpdate | None]
    ) -> HostedEpisode:
        """Change an episode as ``decide`` says; None leaves it as it is."""
        attempt = 0
        while True:
            episode = await self.settled(episode_id)
            update = decide(episode)
            if update is None:
                return episode
            try:
                await self.store([(episode, None, update)])
                return episode
            except Stale:
                attempt += 1
                if attempt == _ATTEMPTS:
                    raise

    async def store(self, changes: Sequence[Change]) -> None:
        """Store decided changes of some episodes, all or none; each episode once.

        On failure the episodes leave memory and are loaded from disk again.
        """
        commands: list[Command[Any]] = [
            update.command for _, _, update in changes if update is not None
        ]
        if details := _details(changes):
            commands.append(RecordStepDetails(details))
        unit = UnitOfWork([step.row for _, step, _ in changes if step is not None], commands)

        def applied(results: list[Logged]) -> None:
            logged = iter(results)
            for episode, step, update in changes:
                if step is not None:
                    episode.apply_step(step)
                if update is not None:
                    episode.apply(update)
                    self.log(episode, next(logged))

        def failed() -> None:
            for episode, _, _ in changes:
                self._cache.forget_episode(episode)

        pending = self._writer.submit(unit, applied, failed)
        for episode, _, _ in changes:
            episode.begin_commit(pending)
        await asyncio.shield(pending)

    def log(self, episode: HostedEpisode, logged: Logged) -> None:
        """Update the agent after a commit, and publish the new events."""
        episode.agent.update_counters(logged.counters)
        for event in logged.events:
            self._events.publish(event)


def _details(changes: Sequence[Change]) -> list[StepDetail]:
    """What is known of the steps beside their states and answers."""
    details: list[StepDetail] = []
    for _, step, update in changes:
        if step is not None:
            details += step.details
        if update is not None and update.correction is not None:
            details.append(update.correction)
    return details
