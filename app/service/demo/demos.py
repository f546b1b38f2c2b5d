"""The engine of the demos: it plays episodes of a simulated task with an agent of this server."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

import numpy as np

from app.errors import Conflict, NotFound, PlauditError, StorageUnavailable
from app.service.access.idempotency import Remember
from app.service.agents.hosted_agent import HostedAgent
from app.service.agents.registry import AgentRegistry
from app.service.agents.specification import read_specification
from app.service.demo.tasks import DemoTask, demo_task
from app.service.episodes.hosted_episode import HostedEpisode
from app.service.episodes.lifecycle import EpisodeMode, EpisodeRequest, EpisodeStatus, Lifecycle
from app.service.episodes.stepping import Stepping
from app.service.labelling.slots import GivenLabel
from app.service.runtime.commit import Commits
from app.service.runtime.event_bus import EventBus, Listener
from app.simulation.environment import Environment
from app.wire.steps import Step

log = logging.getLogger(__name__)

LABELLER = "simulated labeller"
MOST_DEMOS = 4  # that play at the same time
_AHEAD = 3  # episodes that wait for people before the next one is played
_PAUSE_SECONDS = 1.0  # before another try, while the agent is paused or the database is away


class DemoJudge(StrEnum):
    """Who judges the episodes of a demo."""

    simulated = "simulated"
    people = "people"


@dataclass(frozen=True)
class DemoRequest:
    """A demo to start."""

    task: str
    judge: DemoJudge = DemoJudge.simulated
    episodes: int | None = None  # None takes the task's number
    evaluations: int = 50
    seed: int = 0


@dataclass
class Demo:
    """A demo that plays, or has played."""

    agent: HostedAgent
    task: DemoTask
    request: DemoRequest
    random_success: float
    best_success: float
    played: int = 0
    evaluated: int = 0
    running: bool = True
    waiting: deque[str] = field(default_factory=deque)  # episodes that people judge

    @property
    def episodes(self) -> int:
        """How many episodes it plays to learn."""
        return self.request.episodes or self.task.episodes

    @property
    def evaluations(self) -> int:
        """How many episodes it plays to measure its success; people judge none of them."""
        return self.request.evaluations if self.is_simulated else 0

    @property
    def is_simulated(self) -> bool:
        """Whether the simulated labeller judges its episodes."""
        return self.request.judge is DemoJudge.simulated


class Demos:
    """Starts demos and plays them in the background. They end with the server."""

    def __init__(
        self,
        registry: AgentRegistry,
        lifecycle: Lifecycle,
        stepping: Stepping,
        commits: Commits,
        events: EventBus,
    ) -> None:
        self._registry = registry
        self._lifecycle = lifecycle
        self._stepping = stepping
        self._commits = commits
        self._events = events
        self._demos: dict[str, Demo] = {}
        self._playing: set[asyncio.Task[None]] = set()

    def all(self) -> list[Demo]:
        """Every demo whose agent was not deleted, oldest first."""
        self._demos = {id_: demo for id_, demo in self._demos.items() if not demo.agent.deleted}
        return list(self._demos.values())

    def find(self, agent: str) -> Demo:
        """The demo of an agent."""
        for demo in self.all():
            if demo.agent.id == agent:
                return demo
        raise NotFound("demo of the agent", agent)

    async def start(self, request: DemoRequest, remember: Remember | None = None) -> Demo:
        """Create the agent of a demo, and start to play."""
        task = demo_task(request.task)
        if sum(demo.running for demo in self.all()) >= MOST_DEMOS:
            raise Conflict(
                "too_many_demos",
                f"{MOST_DEMOS} demos play already. Delete the agent of one, or wait for its end.",
            )
        world = await asyncio.to_thread(task.load)
        agent = await self._registry.create(
            f"{task.title} (demo)",
            read_specification(task.specification(request.seed)),
            {"demo": {"task": task.name, "judge": request.judge.value}},
            world.display,
            remember,
            task.question,
        )
        best = await asyncio.to_thread(world.optimum)
        demo = Demo(agent, task, request, await asyncio.to_thread(world.uniform), best)
        self._demos[agent.id] = demo
        playing = asyncio.create_task(self._play(demo))
        self._playing.add(playing)
        playing.add_done_callback(self._playing.discard)
        return demo

    async def close(self) -> None:
        """Stop playing."""
        for playing in self._playing:
            playing.cancel()
        await asyncio.gather(*self._playing, return_exceptions=True)

    async def _play(self, demo: Demo) -> None:
        """Play until everything is played, or the agent is deleted."""
        try:
            while demo.played < demo.episodes:
                await self._patiently(demo, partial(self._episode, demo))
            while demo.evaluated < demo.evaluations:
                await self._patiently(demo, partial(self._evaluation, demo))
        except NotFound:
            log.info("demo ended", extra={"agent": demo.agent.id, "reason": "deleted"})
        except PlauditError as error:
            log.warning("demo ended", extra={"agent": demo.agent.id, "reason": str(error)})
        finally:
            demo.running = False

    async def _patiently(self, demo: Demo, play: Callable[[], Awaitable[None]]) -> None:
        """Play one episode; while the agent is paused or the database is away, try again later."""
        try:
            await play()
        except StorageUnavailable:
            await asyncio.sleep(_PAUSE_SECONDS)
        except Conflict:
            if not demo.agent.paused:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _episode(self, demo: Demo) -> None:
        """Play an episode to learn from."""
        if not demo.is_simulated:
            await self._wait_for_people(demo)
        episode = await self._run(demo, EpisodeMode.learn, demo.played)
        if not demo.is_simulated and episode.status is EpisodeStatus.awaiting_label:
            demo.waiting.append(episode.id)
        demo.played += 1

    async def _evaluation(self, demo: Demo) -> None:
        """Play an episode that only measures."""
        await self._run(demo, EpisodeMode.evaluate, demo.episodes + demo.evaluated)
        demo.evaluated += 1

    async def _run(self, demo: Demo, mode: EpisodeMode, index: int) -> HostedEpisode:
        """Play one episode to its end. The simulated labeller judges it with its last call."""
        environment = Environment(demo.task.load())
        request = EpisodeRequest(mode=mode, learn_transitions=mode is EpisodeMode.learn)
        episode = await self._lifecycle.start(demo.agent, request)
        state = environment.reset(np.random.default_rng((demo.request.seed, index)))
        while not environment.done:
            step = Step(step=environment.steps, state=state)
            taken = await self._stepping.step(episode.id, step)
            state, _ = environment.step(taken.action)
        label = GivenLabel(environment.label(), LABELLER) if demo.is_simulated else None
        ended = environment.ended
        return await self._lifecycle.finish(episode.id, state, ended, label)

    async def _wait_for_people(self, demo: Demo) -> None:
        """Wait until few enough episodes wait at the desk."""
        listener = Listener(demo.agent.number)
        self._events.add(listener)
        try:
            while await self._count_waiting(demo) >= _AHEAD:
                if await listener.events.get() is None:  # the agent is deleted, or the server stops
                    raise NotFound("agent", demo.agent.id)
        finally:
            self._events.remove(listener)

    async def _count_waiting(self, demo: Demo) -> int:
        episodes = [await self._commits.settled(id_) for id_ in demo.waiting]
        demo.waiting = deque(
            episode.id for episode in episodes if episode.status is EpisodeStatus.awaiting_label
        )
        return len(demo.waiting)
