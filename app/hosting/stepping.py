"""The hot path: a state in, an action out, on disk before it is answered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from app.errors import NotFound, PlauditError
from app.hosting import endings
from app.hosting.agent import Event
from app.hosting.broadcast import Broadcast
from app.hosting.changes import Changes
from app.hosting.episode import HostedEpisode
from app.hosting.filing import Filing
from app.hosting.loaded import Loaded
from app.metrics import Metrics
from app.storage.writer import Write


class StepTaken(NamedTuple):
    """What a step was answered with."""

    episode: HostedEpisode
    step: int
    action: int
    last: bool
    is_new: bool  # or the answer to a retry

    @classmethod
    def of(cls, episode: HostedEpisode, is_new: bool = True) -> StepTaken:
        """The last step of an episode."""
        last = episode.length == episode.agent.horizon
        return cls(episode, episode.length - 1, episode.action, last, is_new)


class Entry(Protocol):
    """One step of many, as a client sent it."""

    @property
    def episode(self) -> str:
        """Its id."""

    @property
    def step(self) -> int | None:
        """Which one it is, where the client says so."""

    @property
    def state(self) -> Any:
        """As the client wrote it."""


AnEntry = TypeVar("AnEntry", bound=Entry)


class Stepping:
    """Takes the steps of episodes."""

    def __init__(
        self,
        loaded: Loaded,
        changes: Changes,
        filing: Filing,
        broadcast: Broadcast,
        metrics: Metrics,
    ) -> None:
        self._loaded = loaded
        self._changes = changes
        self._filing = filing
        self._broadcast = broadcast
        self._metrics = metrics

    async def step(self, episode_id: str, step: int | None, state: Any) -> StepTaken:
        """Take the next step, or the last one again; durable when it returns."""
        episode = self._loaded.episodes.get(episode_id)
        while episode is None or episode.is_writing:
            if episode is not None:
                await self._changes.settled(episode)
            episode = await self._loaded.episode(episode_id)
        stored: list[Write] = []
        taken, event = self._take(episode, step, state, stored)
        if not taken.is_new:
            return taken
        await self._changes.store(episode, stored)
        self._count([episode])
        if event is not None:
            self._broadcast.publish(event)
        return taken

    async def step_many(
        self, entries: Sequence[AnEntry]
    ) -> list[tuple[AnEntry, StepTaken | PlauditError]]:
        """Take steps of many episodes with one write; each gives its own result or error.

        What has to wait, for a write under way or for an earlier entry of the same episode, is
        taken in another round.
        """
        results: list[Any] = [None] * len(entries)
        left = list(range(len(entries)))
        while left:
            await self._load(entries, left, results)
            left = await self._round(entries, [i for i in left if results[i] is None], results)
        return list(zip(entries, results, strict=True))

    async def _load(
        self, entries: Sequence[Entry], left: Sequence[int], results: list[Any]
    ) -> None:
        """Bring every episode to memory; one that cannot be found is its entry's error."""
        for i in left:
            if entries[i].episode not in self._loaded.episodes:
                try:
                    await self._loaded.episode(entries[i].episode)
                except PlauditError as error:
                    results[i] = error

    async def _round(
        self, entries: Sequence[Entry], left: Sequence[int], results: list[Any]
    ) -> list[int]:
        """Take every step that can be taken now; those that have to wait."""
        together: dict[str, int] = {}  # which episodes, and where their results go
        stored: list[Write] = []
        events: list[Event] = []
        waiting: list[int] = []
        in_the_way: list[HostedEpisode] = []
        for i in left:
            entry, episode = entries[i], self._loaded.episodes.get(entries[i].episode)
            if episode is None or episode.is_writing or entry.episode in together:
                waiting.append(i)
                in_the_way += [] if episode is None else [episode]
                continue
            try:
                taken, event = self._take(episode, entry.step, entry.state, stored)
            except PlauditError as error:
                results[i] = error
                continue
            results[i] = taken
            events += [] if event is None else [event]
            if taken.is_new:
                together[entry.episode] = i
        await self._store(together, stored, results)
        for event in events:
            self._broadcast.publish(event)
        for episode in in_the_way:
            await self._changes.settled(episode)
        return waiting

    def _take(
        self, episode: HostedEpisode, step: int | None, state: Any, stored: list[Write]
    ) -> tuple[StepTaken, Event | None]:
        """The next step of an episode, or the last one again; what to write joins ``stored``."""
        agent = episode.agent
        if agent.deleted:
            raise NotFound("episode", episode.id)
        index, value = agent.encode_state(state, "state")
        if episode.repeats(step, value):
            return StepTaken.of(episode, is_new=False), None
        episode.must_run()
        stored.append(episode.take(index, value))
        taken = StepTaken.of(episode)
        if not taken.last:
            return taken, None
        event, more = endings.end(episode, None, ended=False)
        stored += more
        return taken, event

    async def _store(
        self, together: dict[str, int], stored: list[Write], results: list[Any]
    ) -> None:
        """One write for many episodes; its failure is the failure of each."""
        if not together:
            return
        episodes = [results[i].episode for i in together.values()]
        try:
            await self._changes.store_together(episodes, stored)
        except PlauditError as error:
            for i in together.values():
                results[i] = error
        else:
            self._count(episodes)

    def _count(self, episodes: Sequence[HostedEpisode]) -> None:
        now = time.monotonic()
        for episode in episodes:
            episode.used = episode.agent.used = now
        self._metrics.steps.inc(len(episodes))
        self._filing.count(len(episodes))
