"""The registry of agents: create within the server's budget, describe, delete."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from pydantic import TypeAdapter

from app.errors import InvalidValue, NotFound, PlauditError, Stale
from app.service.access.idempotency import Remember
from app.service.agents.display import check_display
from app.service.agents.hosted_agent import HostedAgent
from app.service.agents.specification import Limits, check_limits
from app.service.episodes.recordings import Recordings
from app.service.runtime.cache import Cache
from app.service.runtime.event_bus import EventBus
from app.service.runtime.ids import agent_id, new_agent_number, read_agent_id
from app.service.training.trainer import Trainer
from app.storage.commands.access import Answered
from app.storage.commands.agents import (
    AgentDescription,
    CreateAgent,
    DeleteAgent,
    DescribeAgent,
    PurgeAgent,
    PurgeSteps,
)
from app.storage.database import Database, now_milliseconds
from app.storage.queries import agents
from app.storage.rows import EpisodeStatus, JsonObject
from app.storage.unit_of_work import Command
from app.wire.agents import AgentChanges, Specification
from app.wire.guidelines import Examples
from app.wire.specification.display import Display

log = logging.getLogger(__name__)

_DISPLAY: TypeAdapter[Display] = TypeAdapter(Display)
_EPISODES_AT_ONCE = 200  # of a deleted agent whose steps are removed in one transaction


class AgentRegistry:
    """Every agent of this server."""

    def __init__(
        self,
        database: Database,
        cache: Cache,
        trainer: Trainer,
        events: EventBus,
        limits: Limits,
        recordings: Recordings,
    ) -> None:
        self._database = database
        self._cache = cache
        self._trainer = trainer
        self._events = events
        self._limits = limits
        self._recordings = recordings
        self._purging: set[asyncio.Task[None]] = set()

    async def resume(self) -> None:
        """Continue what the last run left: learn what is new, and finish deletions."""
        for number in await self._database.read(agents.agents_behind):
            await self._resume_learning(number)
        deleted = await self._database.read(agents.agents_deleted)
        ownerless = await self._database.read(agents.agents_gone)
        for number, episodes in [*deleted, *ownerless]:
            await self._purge(number, episodes)

    async def _resume_learning(self, number: int) -> None:
        try:
            self._trainer.request(await self._cache.agent(number))
        except PlauditError as error:  # one damaged agent must not keep the server from starting
            log.error("agent skipped", extra={"agent": agent_id(number), "reason": str(error)})

    async def find(self, agent: str) -> HostedAgent:
        """An agent by its id."""
        return await self._cache.agent(read_agent_id(agent))

    async def create(
        self,
        name: str,
        specification: Specification,
        metadata: JsonObject,
        display: JsonObject | None,
        remember: Remember | None = None,
        question: str | None = None,
        guidelines: str | None = None,
    ) -> HostedAgent:
        """Create an agent; it plans for its first episode at once."""
        if display is not None:
            check_display(_DISPLAY.validate_python(display), specification)
        notes = await asyncio.to_thread(check_limits, specification, self._limits)
        number = new_agent_number()
        stored = specification.model_dump(mode="json", exclude_unset=True)
        command: Command[None] = CreateAgent(
            number,
            name,
            stored,
            metadata,
            display,
            now_milliseconds(),
            notes,
            question,
            guidelines,
        )
        if remember is not None:
            command = Answered(command, lambda _: remember(agent_id(number)))
        await self._database.commit(command)
        agent = await self._cache.agent(number)
        self._trainer.request(agent)
        return agent

    async def describe(self, agent: HostedAgent, changes: AgentChanges) -> None:
        """Change what does not touch learning, such as its name, its display or its question."""
        if changes.display is not None:
            check_display(changes.display, agent.specification)
        if changes.examples is not None:
            await self._check_examples(agent, changes.examples)
        described = cast(AgentDescription, changes.model_dump(mode="json", exclude_unset=True))
        try:
            await self._database.commit(DescribeAgent(agent.number, described, now_milliseconds()))
        except Stale as error:
            raise NotFound("agent", agent.id) from error
        agent.set_paused(described.get("paused", agent.paused))

    async def _check_examples(self, agent: HostedAgent, examples: Examples) -> None:
        """Refuse examples that are no episodes of this agent, or that are not over."""
        for field, ids in (("good", examples.good), ("bad", examples.bad)):
            for i, id_ in enumerate(ids):
                try:
                    episode = await self._cache.episode(id_)
                except NotFound:
                    episode = None
                if (
                    episode is None
                    or episode.agent is not agent
                    or episode.status is EpisodeStatus.running
                ):
                    expected = "the id of an episode of this agent that is over"
                    raise InvalidValue(f"examples.{field}.{i}", expected)

    async def delete(self, agent: str) -> None:
        """Delete an agent, even a damaged one. Its rows are deleted in the background."""
        number = read_agent_id(agent)
        row = await self._database.read(agents.agent_row, number)
        if row is None:
            raise NotFound("agent", agent)
        try:
            await self._database.commit(DeleteAgent(number, now_milliseconds()))
        except Stale as error:
            raise NotFound("agent", agent) from error
        hosted = await self._cache.loaded_agent(number)
        if hosted is not None:
            hosted.mark_deleted()
        self._events.end(lambda listener: listener.agent == number)
        purging = asyncio.create_task(self._purge_soon(number, row.episodes))
        self._purging.add(purging)
        purging.add_done_callback(self._purging.discard)

    async def close(self) -> None:
        """Stop removing rows; the next start continues."""
        for purging in self._purging:
            purging.cancel()
        await asyncio.gather(*self._purging, return_exceptions=True)

    async def _purge_soon(self, number: int, episodes: int) -> None:
        try:
            await self._purge(number, episodes)
        except PlauditError as error:  # the next start continues
            extra = {"agent": agent_id(number), "reason": str(error)}
            log.warning("a deleted agent still has rows", extra=extra)

    async def _purge(self, number: int, episodes: int) -> None:
        for before in range(_EPISODES_AT_ONCE, episodes, _EPISODES_AT_ONCE):
            await self._database.commit(PurgeSteps(number, before))
        await self._recordings.drop_all(number)
        await self._database.commit(PurgeAgent(number))
        self._cache.forget_agent(number)
