"""The hot path: a state in, an action out, on disk before it is answered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from app.errors import NotFound, PlauditError
from app.metrics import Metrics
from app.service.agents.hosted_agent import Event
from app.service.episodes import endings
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.runtime.cache import Loaded
from app.service.runtime.commit import Changes
from app.service.runtime.events import Broadcast
from app.service.runtime.filing import Filing
from app.storage import commands
from app.storage.sqlite.writer import Row, Write


class StepTaken(NamedTuple):
    """What a step was answered with."""

    episode: HostedEpisode
    step: int
    action: int
    last: bool
    is_new: bool  # or the answer to a retry


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
        while episode is None or episode.is_unsettled:
            if episode is not None:
                await self._changes.settled(episode)
            episode = await self._loaded.episode(episode_id)
        work = _Work()
        taken = work.take(episode, step, state)
        if taken.is_new:
            await self._changes.store(episode, work.stored())
            self._finish(work)
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
            left = await self._round(entries, left, results)
            for i in left:
                try:
                    await self._changes.quiet(entries[i].episode)
                except PlauditError as error:
                    results[i] = error
            left = [i for i in left if results[i] is None]
        return list(zip(entries, results, strict=True))

    async def _round(
        self, entries: Sequence[Entry], left: Sequence[int], results: list[Any]
    ) -> list[int]:
        """Take every step that can be taken now; those that have to wait."""
        work, together, waiting = _Work(), [], []
        episodes = self._loaded.episodes
        for i in left:
            entry = entries[i]
            episode = episodes.get(entry.episode)
            if episode is None or episode.is_unsettled or episode in work.episodes:
                waiting.append(i)
                continue
            try:
                taken = results[i] = work.take(episode, entry.step, entry.state)
            except PlauditError as error:
                results[i] = error
                continue
            if taken.is_new:
                together.append(i)
        if together:
            try:
                await self._changes.store_together(list(work.episodes), work.stored())
            except PlauditError as error:  # of one write, and so of each
                for i in together:
                    results[i] = error
            else:
                self._finish(work)
        return waiting

    def _finish(self, work: _Work) -> None:
        """Steps are on disk."""
        now = time.monotonic()
        for episode in work.episodes:
            episode.used = episode.agent.used = now
        self._metrics.steps.inc(len(work.episodes))
        self._filing.count(len(work.episodes))
        for event in work.events:
            self._broadcast.publish(event)


class _Work:
    """Steps that are stored together."""

    def __init__(self) -> None:
        self.episodes: dict[HostedEpisode, None] = {}  # in order, each once
        self.events: list[Event] = []
        self._rows: list[Row] = []
        self._ends: list[Write] = []

    def take(self, episode: HostedEpisode, step: int | None, state: Any) -> StepTaken:
        """The next step of an episode, or the last one again."""
        agent = episode.agent
        if agent.deleted:
            raise NotFound("episode", episode.id)
        index, value = agent.encode_state(state, "state")
        is_new = not episode.repeats(step, value)
        if is_new:
            episode.must_run()
            self._rows.append(episode.take(index, value))
            self.episodes[episode] = None
        last = episode.length == agent.horizon
        if is_new and last:
            event, ends = endings.end(episode, None, ended=False)
            self.events.append(event)
            self._ends += ends
        return StepTaken(episode, episode.length - 1, episode.action, last, is_new)

    def stored(self) -> list[Write]:
        """What to write."""
        return [Write(commands.ADD_STEP, self._rows), *self._ends]
