"""An agent in memory: its plans in force, and how far its log and its learning have come."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from app.agents.insight import Insight
from app.learning.world.policy import Policy
from app.planning.policies.uniform import UniformPolicy
from app.service.agents.spaces import BoxCodec, action_codec, state_codec
from app.service.runtime.ids import agent_id, episode_id
from app.service.training.worker import EXPLOIT
from app.storage import commands
from app.storage.queries.lessons import LESSONS
from app.storage.sqlite.writer import Write
from app.wire.agents import Specification

LearningState = Literal["idle", "queued", "running", "failed"]


@dataclass(frozen=True, slots=True)
class HostedPlan:
    """A policy with what is known of it. ``episode`` is the one that it was made for."""

    version: int
    episode: int | None
    policy: Policy
    label_required: bool = True
    planner: str = "none"
    value: float = 0.5
    gap: float = 1.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an agent, as it stands in its log."""

    agent: int
    number: int
    kind: str
    episode: int | None
    value: int | None
    at: int
    voice: int | None = None  # which of the episode's verdicts a label is

    def stored(self) -> Write:
        """The write that appends it to the log."""
        return Write(commands.ADD_EVENT, asdict(self))

    def public(self) -> dict[str, Any]:
        """As clients see it."""
        body: dict[str, Any] = {"agent": agent_id(self.agent), "number": self.number}
        if self.episode is not None:
            body["episode"] = episode_id(self.agent, self.episode)
        if self.kind in ("labelled", "settled"):
            body["label"] = self.value
        if self.kind == "policy":
            body["policy_version"] = self.value
        return body


class HostedAgent:
    """One agent that is in use."""

    def __init__(self, row: Any, specification: Specification) -> None:
        self.number: int = row.id
        self.id = agent_id(row.id)
        self.specification = specification
        self.states = state_codec(specification.states)
        self.actions = action_codec(specification.actions)
        self.horizon = specification.horizon
        self.seed = specification.seed
        self.observes = specification.algorithm.observes  # numbers as they are
        self.paused: bool = row.paused
        self.next_episode: int = row.episodes
        self.running: int = row.running
        self.last_event: int = row.last_event
        self.last_lesson: int = row.last_lesson
        self.learned: int = row.learned
        self.version: int = row.policy_version
        self.plans: dict[int, HostedPlan] = {}
        self.insight: Insight | None = None
        self.insight_version = -1
        self.learning_error: str | None = row.learning_error
        self.learning: LearningState = "failed" if self.learning_error else "idle"
        self.deleted = False
        self.waiters: list[asyncio.Future[None]] = []
        self.used = 0.0

    @property
    def behind(self) -> bool:
        """Whether there is something that it has not learned from."""
        return self.learned < self.last_lesson

    def encode_state(self, state: object, field: str) -> tuple[int, Any]:
        """The index of a state, and the state as it is kept."""
        index = self.states.encode(state, field)
        if isinstance(self.states, BoxCodec):
            return index, self.states.observation(state, field)
        return index, index

    def decode_state(self, index: int, observation: list[float] | None) -> Any:
        """A state as the client wrote it."""
        return self.states.decode(index) if observation is None else observation

    def plan_for(self, episode: int, mode: str) -> HostedPlan:
        """The plan of an episode that starts now."""
        if not self.plans:
            return HostedPlan(self.version, None, UniformPolicy(self.actions.size))
        if mode == "exploit" and EXPLOIT in self.plans:
            return self.plans[EXPLOIT]
        if episode in self.plans:
            return self.plans[episode]
        learning = sorted(number for number in self.plans if number != EXPLOIT)
        return self.plans[learning[episode % len(learning)]]

    def newest_plan(self) -> HostedPlan | None:
        """The plan in force that the view of the agent shows."""
        numbers = [number for number in self.plans if number != EXPLOIT]
        return self.plans[max(numbers)] if numbers else None

    def record(
        self,
        kind: str,
        episode: int | None,
        value: int | None,
        now: int,
        voice: int | None = None,
        **more: int,
    ) -> tuple[Event, list[Write]]:
        """The next event of the log, with the writes that make it so.

        ``more`` are changes of the counters.
        """
        self.last_event += 1
        if kind in LESSONS:
            self.last_lesson = self.last_event
        event = Event(self.number, self.last_event, kind, episode, value, now, voice)
        return event, [event.stored(), self.count(**more)]

    def count(self, **more: int) -> Write:
        """The write that moves the counters."""
        changes = {f"more_{name}": more.get(name, 0) for name in commands.COUNTERS}
        self.running += more.get("running", 0)
        return Write(
            commands.COUNT,
            changes
            | {
                "the_agent": self.number,
                "new_episodes": self.next_episode,
                "new_last_event": self.last_event,
                "new_last_lesson": self.last_lesson,
            },
        )

    def undo(self, stored: Iterable[Write]) -> None:
        """What writes that failed had counted here; a number that was given stays given."""
        for statement, counted in stored:
            if statement is commands.COUNT and isinstance(counted, dict):
                own = counted["the_agent"] == self.number
                self.running -= counted["more_running"] if own else 0

    def wake(self) -> None:
        """Tell everybody who waits that learning has come to a pause."""
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
