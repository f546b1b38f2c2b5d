"""Verdicts: given, replaced, withdrawn, timed out; and which episode to judge next."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from app.errors import Conflict, NotFound, PlauditError
from app.metrics import Metrics
from app.service.agents.hosted_agent import Event, HostedAgent
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.episodes.lifecycle import Play
from app.service.labelling import slots
from app.service.labelling.verdicts import TIMEOUT, Verdict
from app.service.runtime.cache import Loaded
from app.service.runtime.commit import Changes
from app.service.runtime.events import Broadcast
from app.service.runtime.ids import episode_id
from app.service.training.process_pool import LearningProcesses
from app.service.training.scheduler import Learning
from app.service.training.worker import RankingJob
from app.storage.database import Database, now_milliseconds
from app.storage.queries import reading
from app.storage.sqlite.writer import Write

log = logging.getLogger(__name__)

MOST_RANKED = 2000  # episodes of one agent that are compared
MOST_AGENTS = 200  # whose waiting episodes are compared with one another
_AT_ONCE = 200  # overdue labels handled together


class Judgement:
    """Takes labels at any time and in any order."""

    def __init__(
        self,
        database: Database,
        loaded: Loaded,
        learning: Learning,
        processes: LearningProcesses,
        changes: Changes,
        play: Play,
        broadcast: Broadcast,
        metrics: Metrics,
    ) -> None:
        self._database = database
        self._loaded = loaded
        self._learning = learning
        self._processes = processes
        self._changes = changes
        self._play = play
        self._broadcast = broadcast
        self._metrics = metrics
        self._ranked: dict[int, tuple[tuple[int, tuple[int, ...]], list[float]]] = {}

    async def give(self, episode: str, verdict: Verdict) -> HostedEpisode:
        """Label an episode; one's own label again is harmless, another is refused."""
        hosted = await self._judged(episode)
        voice = hosted.voice_of(verdict.labeller)
        if voice is None:
            return await self._label(hosted, slots.voice_for(hosted), verdict)
        own = hosted.verdicts[voice].label
        if own == verdict.label:
            return hosted
        by = "" if hosted.labels_wanted == 1 else " by this labeller"
        raise Conflict(
            "already_labelled", f"the episode is labelled {own}{by}; PUT replaces a label"
        )

    async def replace(self, episode: str, verdict: Verdict) -> HostedEpisode:
        """Label an episode whatever one's label was: as if this had been it from the start."""
        hosted = await self._judged(episode)
        voice = hosted.voice_of(verdict.labeller)
        if voice is None:
            voice = slots.voice_for(hosted)
        elif hosted.verdicts[voice].label == verdict.label:
            return hosted
        return await self._label(hosted, voice, verdict)

    async def withdraw(self, episode: str, labeller: str | None = None) -> HostedEpisode:
        """Take one's label back, as if it had never been given."""
        hosted = await self._judged(episode)
        voice = hosted.voice_of(labeller)
        if voice is None:
            by = "" if hosted.labels_wanted == 1 else " of this labeller"
            raise Conflict("not_labelled", f"the episode has no label{by} to withdraw")
        changed = slots.withdraw(hosted, voice, labeller, now_milliseconds())
        return await self._learn(hosted, *changed)

    async def _label(
        self, hosted: HostedEpisode, voice: int, verdict: Verdict, settled: bool = False
    ) -> HostedEpisode:
        self._metrics.labels.labels(str(verdict.label)).inc()
        said = replace(verdict, at=now_milliseconds())
        return await self._learn(hosted, *slots.give(hosted, voice, said, settled))

    async def _judged(self, episode: str) -> HostedEpisode:
        """An episode that can be judged, with no write under way."""
        hosted = await self._changes.quiet(episode)
        if hosted.status == "running":
            raise Conflict("episode_running", "the episode is still running; finish it first")
        if hosted.status == "abandoned":
            raise Conflict("episode_abandoned", "the episode was given up; it takes no label")
        return hosted

    async def _learn(
        self, hosted: HostedEpisode, event: Event, stored: list[Write]
    ) -> HostedEpisode:
        """Store a change of an episode's verdicts, and learn from it."""
        await self._store(hosted, event, stored)
        self._learning.request(hosted.agent)
        return hosted

    async def _store(self, hosted: HostedEpisode, event: Event, stored: list[Write]) -> None:
        await self._changes.store(hosted, stored)
        self._broadcast.publish(event)

    async def expire(self) -> None:
        """Do with overdue episodes what was asked for."""
        due = await self._database.read(reading.episodes_due, now_milliseconds(), _AT_ONCE)
        for agent, number in due:
            try:
                await self._expire(episode_id(agent, number))
            except PlauditError as error:
                log.warning(
                    "an overdue label could not be given",
                    extra={"episode": episode_id(agent, number), "reason": str(error)},
                )

    async def _expire(self, episode: str) -> None:
        """The verdicts that are there decide; without any the default does, or it is given up."""
        hosted = await self._changes.quiet(episode)
        label = hosted.agent.specification.default_label
        if hosted.status != "awaiting_label":
            return
        if hosted.verdicts:
            await self._store(hosted, *slots.settle(hosted, now_milliseconds()))
        elif label is None:
            await self._play.abandon(hosted.id)
        else:
            await self._label(hosted, 0, Verdict(label, TIMEOUT), settled=True)

    async def most_informative(self, agent: HostedAgent) -> list[tuple[float, int]]:
        """The episodes that wait for a label, the one that teaches the most first."""
        numbers = await self._database.read(reading.waiting_numbers, agent.number, MOST_RANKED)
        key = agent.version, tuple(numbers)
        known = self._ranked.get(agent.number)
        if known is None or known[0] != key:
            scores = [0.0] * len(numbers)
            if numbers:
                job = RankingJob(agent.number, tuple(numbers))
                scores = await self._processes.run(job)
            known = self._ranked[agent.number] = key, scores
        # Of two that teach the same the older goes first.
        return sorted(zip(known[1], numbers, strict=True), key=lambda pair: (-pair[0], pair[1]))

    async def agents_waiting(self, agent: int | None) -> list[int]:
        """One agent, or those that have episodes waiting."""
        if agent is not None:
            return [agent]
        return await self._database.read(reading.agents_waiting, MOST_AGENTS)

    async def queue(self, agent: int | None) -> list[tuple[float, int, int]]:
        """(information, agent, number) of what waits, at one agent or at all; the most first."""

        async def one(number: int) -> list[tuple[float, int, int]]:
            try:
                agent = await self._loaded.agent(number)
            except NotFound:
                return []
            ranked = await self.most_informative(agent)
            return [(score, number, episode) for score, episode in ranked]

        agents = await self.agents_waiting(agent)
        parts = await asyncio.gather(*(one(number) for number in agents))
        whole = [entry for part in parts for entry in part]
        return sorted(whole, key=lambda entry: (-entry[0], entry[1], entry[2]))
