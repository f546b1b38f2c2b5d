"""An episode's life: it starts on a pinned plan, takes steps, and is finished or abandoned."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from app.errors import Conflict, NotFound, PlauditError
from app.hosting.agent import Event, HostedAgent
from app.hosting.answers import Remember
from app.hosting.broadcast import Broadcast
from app.hosting.database import Database, now_milliseconds
from app.hosting.episode import HostedEpisode
from app.hosting.filing import Filing
from app.hosting.learning import Learning
from app.hosting.loaded import Loaded
from app.hosting.spaces import Box
from app.learning.randomness import generator
from app.learning.trajectory import Trajectory
from app.metrics import Metrics
from app.storage import reading, writes
from app.storage.writer import Write

_EXPLAIN = 3  # address of the generator of the rollouts that explain a step


@dataclass(frozen=True)
class Explanation:
    """Why an action was taken."""

    visits: int
    success_probability: float
    bonus_share: float


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


class Play:
    """Starts, steps and ends episodes."""

    def __init__(
        self,
        database: Database,
        loaded: Loaded,
        learning: Learning,
        filing: Filing,
        broadcast: Broadcast,
        metrics: Metrics,
        wait_seconds: float,
    ) -> None:
        self._database = database
        self._loaded = loaded
        self._learning = learning
        self._filing = filing
        self._broadcast = broadcast
        self._metrics = metrics
        self._wait_seconds = wait_seconds

    async def start(
        self,
        agent: HostedAgent,
        mode: str,
        wait: bool,
        external_id: str | None,
        metadata: dict[str, Any],
        remember: Remember | None = None,
    ) -> HostedEpisode:
        """Start an episode on the policy in force, after learning that is under way if wanted."""
        self._may_start(agent)
        if wait:
            await self._catch_up(agent, mode)
            self._may_start(agent)
        elif self._lacks(agent, mode) and agent.learning != "failed":
            self._learning.request(agent, more=True)
        number = agent.next_episode
        agent.next_episode += 1
        plan = agent.plan_for(number, mode)
        episode = HostedEpisode(agent, number, mode, plan)
        episode.used = time.monotonic()
        row = {
            "agent": agent.number,
            "number": number,
            "external_id": external_id,
            "mode": mode,
            "status": "running",
            "label_required": plan.label_required,
            "policy_version": plan.version,
            "plan": plan.episode,
            "ended": False,
            "metadata": metadata,
            "created_at": now_milliseconds(),
        }
        self._loaded.episodes[episode.id] = episode
        also = [] if remember is None else [remember(episode.id)]
        stored = [Write(writes.ADD_EPISODE, row), agent.count(running=1), *also]
        await self.write(episode, stored)
        self._metrics.episodes.inc()
        return episode

    def _may_start(self, agent: HostedAgent) -> None:
        if agent.paused:
            raise Conflict("agent_paused", "the agent is paused: it starts no episodes")

    async def _catch_up(self, agent: HostedAgent, mode: str) -> None:
        """Wait, within bounds, until what is known now is learned and there is a plan for it."""
        deadline = time.monotonic() + self._wait_seconds
        target = agent.last_lesson
        while (left := deadline - time.monotonic()) > 0:
            behind = agent.learned < target
            if not (behind or self._lacks(agent, mode)):
                return
            if agent.learning == "failed" and not self._learning.is_under_way(agent):
                return  # it tries again at the next label
            self._learning.request(agent, more=not behind)
            await self._learning.wait(agent, left)

    def _lacks(self, agent: HostedAgent, mode: str) -> bool:
        """Whether the next episode would have to share a plan with one that runs beside it."""
        shared = agent.running > 0 and agent.next_episode not in agent.plans
        return not agent.plans or (mode == "learn" and shared)

    async def step(self, episode_id: str, step: int | None, state: Any) -> StepTaken:
        """Take the next step, or the last one again; durable when it returns."""
        episode = self._loaded.episodes.get(episode_id)
        while episode is None or episode.is_writing:
            if episode is not None:
                await self._settled(episode)
            episode = await self._loaded.episode(episode_id)
        stored: list[Write] = []
        taken, event = self._take(episode, step, state, stored)
        if not taken.is_new:
            return taken
        await self.write(episode, stored)
        episode.used = episode.agent.used = time.monotonic()
        self._metrics.steps.inc()
        self._filing.count(1)
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
        await self._write_together(together, stored, results)
        for event in events:
            self._broadcast.publish(event)
        for episode in in_the_way:
            await self._settled(episode)
        return waiting

    def _take(
        self, episode: HostedEpisode, step: int | None, state: Any, stored: list[Write]
    ) -> tuple[StepTaken, Event | None]:
        """The next step of an episode, or the last one again; what to write joins ``stored``."""
        agent = episode.agent
        if agent.deleted:
            raise NotFound("episode", episode.id)
        index, value = encode_state(agent, state, "state")
        if episode.repeats(step, value):
            return StepTaken.of(episode, is_new=False), None
        episode.must_run()
        stored.append(episode.take(index, value))
        taken = StepTaken.of(episode)
        if not taken.last:
            return taken, None
        event, more = self._end(episode, final=None, ended=False)
        stored += more
        return taken, event

    async def _write_together(
        self, together: dict[str, int], stored: list[Write], results: list[Any]
    ) -> None:
        """One write for many episodes; its failure is the failure of each."""
        if not together:
            return
        now, episodes = time.monotonic(), [results[i].episode for i in together.values()]
        try:
            written = self._database.writer.submit(stored)
            for episode in episodes:
                episode.pending, episode.used, episode.agent.used = written, now, now
            await asyncio.shield(written)
            self._metrics.steps.inc(len(episodes))
            self._filing.count(len(episodes))
        except PlauditError as error:
            for i, episode in zip(together.values(), episodes, strict=True):
                self._loaded.forget_episode(episode)
                results[i] = error
            for agent in {episode.agent for episode in episodes}:
                agent.undo(stored)

    async def finish(self, episode_id: str, state: Any, terminated: bool | None) -> HostedEpisode:
        """End an episode before the horizon, or say what its last step led to."""
        episode = await self.quiet(episode_id)
        final = None if state is None else encode_state(episode.agent, state, "state")
        if episode.status == "running":
            event, stored = self._end(episode, final, terminated is not False)
        else:
            event, stored = self._report(episode, final, terminated is True)
        await self.write(episode, stored)
        self._broadcast.publish(event)
        return episode

    async def abandon(self, episode_id: str) -> HostedEpisode:
        """Give an episode up: its transitions count, and no label will come."""
        episode = await self.quiet(episode_id)
        agent, now = episode.agent, now_milliseconds()
        if episode.status not in ("running", "awaiting_label"):
            raise Conflict("episode_over", f"the episode is over: it is {episode.status}")
        before = episode.status
        # What a finished episode showed was learned when it finished.
        kind = "abandoned" if before == "running" else "given_up"
        event, stored = agent.record(
            kind, episode.number, None, now, **{before: -1, "abandoned": 1}
        )
        episode.status, episode.plan = "abandoned", None
        row = {
            "the_agent": agent.number,
            "the_episode": episode.number,
            "new_status": "abandoned",
            "new_label": None,
            "new_label_due": None,
            "new_labelled_at": None,
        }
        if before == "running":
            stored.insert(0, self._over(episode, None, False, None, now))
        else:
            stored.insert(0, Write(writes.LABEL_EPISODE, row))
        await self.write(episode, stored)
        self._broadcast.publish(event)
        return episode

    async def explain(self, episode: HostedEpisode) -> Explanation | None:
        """Why the last step's action was taken, if the agent has beliefs to explain it with."""
        insight = await self._loaded.insight(episode.agent)
        plan, memory = episode.plan, episode.memory
        if insight is None:
            return None
        rows = await self._database.read(reading.step_rows, episode.agent.number, episode.number)
        played = Trajectory(
            np.array([row.state for row in rows]), np.array([row.action for row in rows])
        )
        step, state, action = rows[-1].step, rows[-1].state, rows[-1].action
        rng = generator(episode.agent.seed, _EXPLAIN, episode.number, step)
        if plan is None:
            chance = insight.predict(played)
        else:
            chance = await asyncio.to_thread(insight.success_from, plan.policy, played, memory, rng)
        bonus = float(insight.bonuses[step, state, action])
        share = bonus / (bonus + chance) if bonus + chance > 0 else 0.0
        return Explanation(int(insight.visits[state, action]), chance, share)

    def _end(
        self, episode: HostedEpisode, final: tuple[int, Any] | None, ended: bool
    ) -> tuple[Event, list[Write]]:
        """An episode is over: what to write, and the event."""
        agent, now = episode.agent, now_milliseconds()
        status = "awaiting_label" if episode.label_required else "completed"
        known = final is not None or ended
        event, stored = agent.record(
            "finished", episode.number, int(known), now, running=-1, **{status: 1}
        )
        timeout = agent.specification.timeout_seconds
        due = None
        if timeout is not None and episode.label_required:
            due = now + int(1000 * timeout)
        episode.status, episode.final_known = status, known
        episode.plan = None
        return event, [self._over(episode, final, ended, due, now), *stored]

    def _over(
        self,
        episode: HostedEpisode,
        final: tuple[int, Any] | None,
        ended: bool,
        due: int | None,
        now: int,
    ) -> Write:
        return Write(
            writes.FINISH_EPISODE,
            {
                "the_agent": episode.agent.number,
                "the_episode": episode.number,
                "new_status": episode.status,
                "new_length": episode.length,
                "new_ended": ended,
                "new_label_due": due,
                "now": now,
                **_final_columns(final),
            },
        )

    def _report(
        self, episode: HostedEpisode, final: tuple[int, Any] | None, ended: bool
    ) -> tuple[Event, list[Write]]:
        """What the last step before the horizon led to."""
        if final is None or episode.status == "abandoned":
            raise Conflict("episode_over", f"the episode is over: it is {episode.status}")
        if episode.final_known or episode.length < episode.agent.horizon:
            raise Conflict("already_finished", "where the episode ended is known already")
        episode.final_known = True
        agent = episode.agent
        event, stored = agent.record("reported", episode.number, None, now_milliseconds())
        row = {
            "the_agent": agent.number,
            "the_episode": episode.number,
            "new_ended": ended,
            **_final_columns(final),
        }
        return event, [Write(writes.REPORT_EPISODE, row), *stored]

    async def quiet(self, episode_id: str) -> HostedEpisode:
        """An episode with no write under way."""
        episode = await self._loaded.episode(episode_id)
        while episode.is_writing:
            await self._settled(episode)
            episode = await self._loaded.episode(episode_id)
        return episode

    async def _settled(self, episode: HostedEpisode) -> None:
        """Until the write under way is on disk, or has failed: then memory is ahead of the disk.

        It is not the failure of who waits here; the episode is to be loaded as it is on disk.
        """
        written = episode.pending
        if written is not None:
            if not written.done():
                await asyncio.wait([written])
            if written.cancelled() or written.exception() is not None:
                self._loaded.forget_episode(episode)

    async def write(self, episode: HostedEpisode, stored: list[Write]) -> None:
        """Store a change; if that fails the episode is what it is on disk."""
        try:
            episode.pending = self._database.writer.submit(stored)
            await asyncio.shield(episode.pending)
        except PlauditError:
            self._loaded.forget_episode(episode)
            episode.agent.undo(stored)
            raise


def encode_state(agent: HostedAgent, state: Any, field: str) -> tuple[int, Any]:
    """A state as the policy takes it, and as it is kept."""
    space = agent.specification.states
    if isinstance(space, Box):
        return space.encode(state, field), space.observation(state, field)
    index = space.encode(state, field)
    return index, index


def decode_state(agent: HostedAgent, index: int, observation: list[float] | None) -> Any:
    """A state as the client wrote it."""
    return agent.specification.states.decode(index) if observation is None else observation


def _final_columns(final: tuple[int, Any] | None) -> dict[str, Any]:
    index, value = final if final is not None else (None, None)
    return {
        "new_final": index,
        "new_final_observation": value if isinstance(value, list) else None,
    }
