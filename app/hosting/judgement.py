"""Verdicts: given, replaced, withdrawn, timed out; and which episode to judge next."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from app.errors import Conflict, NotFound, PlauditError
from app.hosting.agent import HostedAgent
from app.hosting.broadcast import Broadcast
from app.hosting.changes import Changes
from app.hosting.database import Database, now_milliseconds
from app.hosting.episode import HostedEpisode
from app.hosting.ids import episode_id
from app.hosting.learner import RankingJob
from app.hosting.learning import Learning
from app.hosting.loaded import Loaded
from app.hosting.play import Play
from app.hosting.processes import LearningProcesses
from app.metrics import Metrics
from app.storage import reading, writes
from app.storage.writer import Write

log = logging.getLogger(__name__)

MOST_RANKED = 2000  # episodes of one agent that are compared
_AT_ONCE = 200  # overdue labels handled together
TIMEOUT = "timeout"  # the labeller of a label that nobody gave in time


@dataclass(frozen=True)
class Verdict:
    """A label, and who gave it."""

    label: int
    labeller: str | None = None
    comment: str | None = None


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
        """Label an episode; the same label again is harmless, another is refused."""
        hosted = await self._judged(episode)
        if hosted.label is not None:
            if hosted.label == verdict.label:
                return hosted
            raise Conflict(
                "already_labelled",
                f"the episode is labelled {hosted.label}; PUT replaces a label",
            )
        return await self._label(hosted, verdict)

    async def replace(self, episode: str, verdict: Verdict) -> HostedEpisode:
        """Label an episode whatever label it had: as if this had been the one from the start."""
        hosted = await self._judged(episode)
        if hosted.label == verdict.label:
            return hosted
        return await self._label(hosted, verdict)

    async def withdraw(self, episode: str, labeller: str | None = None) -> HostedEpisode:
        """Take a label back, as if it had never been given."""
        hosted = await self._judged(episode)
        if hosted.label is None:
            raise Conflict("not_labelled", "the episode has no label to withdraw")
        status = "awaiting_label" if hosted.label_required else "completed"
        return await self._set(hosted, None, status, "withdrawn", labeller, None)

    async def _label(self, hosted: HostedEpisode, verdict: Verdict) -> HostedEpisode:
        self._metrics.labels.labels(str(verdict.label)).inc()
        return await self._set(
            hosted, verdict.label, "labelled", "labelled", verdict.labeller, verdict.comment
        )

    async def _judged(self, episode: str) -> HostedEpisode:
        """An episode that can be judged, with no write under way."""
        hosted = await self._changes.quiet(episode)
        if hosted.status == "running":
            raise Conflict("episode_running", "the episode is still running; finish it first")
        if hosted.status == "abandoned":
            raise Conflict("episode_abandoned", "the episode was given up; it takes no label")
        return hosted

    async def _set(
        self,
        hosted: HostedEpisode,
        label: int | None,
        status: str,
        kind: str,
        labeller: str | None,
        comment: str | None,
    ) -> HostedEpisode:
        """Store a change of an episode's label, and learn from it."""
        agent, now = hosted.agent, now_milliseconds()
        good = (label or 0) - (hosted.label or 0)
        moved = {} if hosted.status == status else {hosted.status: -1, status: 1}
        event, stored = agent.record(kind, hosted.number, label, now, good=good, **moved)
        hosted.label, hosted.status = label, status
        row = {
            "the_agent": agent.number,
            "the_episode": hosted.number,
            "new_status": status,
            "new_label": label,
            "new_label_due": None,
            "new_labelled_at": None if label is None else now,
        }
        history = {
            "agent": agent.number,
            "episode": hosted.number,
            "label": label,
            "labeller": labeller,
            "comment": comment,
            "at": now,
        }
        label_writes = [Write(writes.LABEL_EPISODE, row), Write(writes.ADD_LABEL, history)]
        await self._changes.store(hosted, [*label_writes, *stored])
        self._broadcast.publish(event)
        self._learning.request(agent)
        return hosted

    async def expire(self) -> None:
        """Give overdue episodes their default label, or give them up."""
        due = await self._database.read(reading.episodes_due, now_milliseconds(), _AT_ONCE)
        for agent, number in due:
            try:
                hosted = await self._loaded.episode(episode_id(agent, number))
                label = hosted.agent.specification.default_label
                if hosted.status != "awaiting_label":
                    continue
                if label is None:
                    await self._play.abandon(hosted.id)
                else:
                    await self.give(hosted.id, Verdict(label, TIMEOUT))
            except PlauditError as error:
                log.warning(
                    "an overdue label could not be given",
                    extra={"episode": episode_id(agent, number), "reason": str(error)},
                )

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

    async def queue(self, agents: list[int]) -> list[tuple[float, int, int]]:
        """(information, agent, number) of what waits at some agents, most informative first."""

        async def one(number: int) -> list[tuple[float, int, int]]:
            try:
                agent = await self._loaded.agent(number)
            except NotFound:
                return []
            ranked = await self.most_informative(agent)
            return [(score, number, episode) for score, episode in ranked]

        parts = await asyncio.gather(*(one(number) for number in agents))
        whole = [entry for part in parts for entry in part]
        return sorted(whole, key=lambda entry: (-entry[0], entry[1], entry[2]))
