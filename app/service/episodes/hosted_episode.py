"""An episode in memory: its pinned plan, where it stands, and what was answered last."""

from __future__ import annotations

import asyncio
from typing import Any

from app.errors import Conflict
from app.learning.randomness import number_of, stream_of
from app.service.agents.hosted_agent import HostedAgent, HostedPlan
from app.service.labelling.verdicts import Verdict
from app.service.runtime.ids import episode_id
from app.storage import commands
from app.storage.sqlite.writer import Row


class HostedEpisode:
    """One episode that is in use. All its changes happen in the event loop, one at a time."""

    __slots__ = (
        "action",
        "agent",
        "final_known",
        "id",
        "label",
        "label_required",
        "labels_wanted",
        "length",
        "memory",
        "mode",
        "number",
        "pending",
        "plan",
        "policy_version",
        "state",
        "status",
        "stream",
        "used",
        "verdicts",
    )

    def __init__(self, agent: HostedAgent, number: int, mode: str, plan: HostedPlan | None) -> None:
        self.agent = agent
        self.number = number
        self.id = episode_id(agent.number, number)
        self.mode = mode
        self.plan = plan  # None once nobody needs it
        self.policy_version = 0 if plan is None else plan.version
        self.label_required = True if plan is None else plan.label_required
        self.labels_wanted = agent.specification.labels_wanted
        self.status = "running"
        self.verdicts: dict[int, Verdict] = {}  # that hold, by voice
        self.label: int | None = None  # what they come to, once there are enough
        self.final_known = False
        self.memory: tuple[int, ...] = ()
        self.length = 0  # steps taken
        self.state: Any = None  # of the last step: an index, or an observation
        self.action = -1  # of the last step
        self.pending: asyncio.Future[None] | None = None  # the last write
        self.stream = stream_of(agent.seed, number)  # of its random numbers
        self.used = 0.0

    @property
    def is_unsettled(self) -> bool:
        """Whether a write is under way, or has failed: then this is ahead of what is on disk.

        The next change waits for it, and begins from what is on disk if it failed.
        """
        written = self.pending
        if written is None:
            return False
        return not written.done() or written.cancelled() or written.exception() is not None

    @property
    def open_status(self) -> str:
        """Where it stands once it is over, until it is labelled."""
        return "awaiting_label" if self.label_required else "completed"

    def voice_of(self, labeller: str | None) -> int | None:
        """Which verdict is somebody's; where one is wanted it is everybody's."""
        for voice, verdict in self.verdicts.items():
            if self.labels_wanted == 1 or verdict.labeller == labeller:
                return voice
        return None

    def free_voice(self) -> int:
        """The place of one more verdict."""
        for voice in range(self.labels_wanted):
            if voice not in self.verdicts:
                return voice
        wanted = self.labels_wanted
        raise Conflict("already_labelled", f"the episode has all the {wanted} labels it wants")

    def repeats(self, step: int | None, state: Any) -> bool:
        """Whether a request is the last step again; a step that does not fit is refused."""
        if step is None or step == self.length:
            return False
        if step == self.length - 1:
            if state == self.state:
                return True
            raise Conflict("step_conflict", f"step {step} was answered for another state")
        raise Conflict("step_out_of_order", f"the next step is {self.length}, not {step}")

    def must_run(self) -> None:
        """Refuse what only a running episode can take."""
        if self.status != "running":
            raise Conflict("episode_over", f"the episode is over: it is {self.status}")

    def take(self, index: int, state: Any) -> Row:
        """Take the next step in ``state``, whose index is ``index``; the row to write."""
        assert self.plan is not None
        luck = number_of(self.stream, self.length)
        seen: Any = tuple(state) if self.agent.observes else index
        self.action, self.memory = self.plan.policy.act(self.length, seen, self.memory, luck)
        self.state = state
        row = commands.journal_row(
            self.agent.number, self.number, self.length, index, self.action, state
        )
        self.length += 1
        return row

    def replay(self, rows: Any) -> None:
        """Go through the steps that were taken before, to where the episode stands."""
        for row in rows:
            self.take(row.state, row.state if row.observation is None else row.observation)
            self.action = row.action  # what was answered is what happened
