"""Agents come and go: created within the server's budget, described anew, deleted."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from app.errors import NotFound, PlauditError
from app.service.access.idempotency import Remember
from app.service.agents.hosted_agent import HostedAgent
from app.service.agents.specification import Limits, check_limits
from app.service.runtime.cache import Loaded
from app.service.runtime.events import Broadcast
from app.service.runtime.ids import agent_id, new_agent_number, read_agent_id
from app.service.training.scheduler import Learning
from app.storage import commands
from app.storage.database import Database, now_milliseconds
from app.storage.queries import reading
from app.storage.sqlite.writer import Write
from app.wire.agents import Specification

log = logging.getLogger(__name__)

_EPISODES_AT_ONCE = 200  # of a deleted agent whose steps go in one transaction


class Roster:
    """Every agent that there is."""

    def __init__(
        self,
        database: Database,
        loaded: Loaded,
        learning: Learning,
        broadcast: Broadcast,
        limits: Limits,
    ) -> None:
        self._database = database
        self._loaded = loaded
        self._learning = learning
        self._broadcast = broadcast
        self._limits = limits
        self._position = 0
        self._purging: set[asyncio.Task[None]] = set()
        self._describing = asyncio.Lock()

    async def start(self) -> None:
        """Go on where the last run stopped: learn what is new, and finish deleting."""
        self._position = await self._database.read(reading.last_position)
        for number in await self._database.read(reading.agents_behind):
            self._learning.request(await self._loaded.agent(number))
        for number, episodes in await self._database.read(reading.agents_deleted):
            await self._purge(number, episodes)

    async def find(self, agent: str) -> HostedAgent:
        """An agent by its id."""
        return await self._loaded.agent(read_agent_id(agent))

    async def create(
        self,
        name: str,
        specification: Specification,
        metadata: dict[str, Any],
        display: dict[str, Any] | None,
        remember: Remember | None = None,
    ) -> HostedAgent:
        """A new agent; it plans for its first episode at once."""
        notes = await asyncio.to_thread(check_limits, specification, self._limits)
        number = new_agent_number()
        self._position += 1
        row = {
            "id": number,
            "position": self._position,
            "name": name,
            "specification": specification.model_dump(mode="json", exclude_unset=True),
            "metadata": metadata,
            "display": display,
            "paused": False,
            "created_at": now_milliseconds(),
            "notes": notes,
            **dict.fromkeys(("episodes", *commands.COUNTERS), 0),
            **dict.fromkeys(("last_event", "last_lesson", "learned", "policy_version"), 0),
        }
        also = [] if remember is None else [remember(agent_id(number))]
        await self._database.write([Write(commands.ADD_AGENT, row), *also])
        agent = await self._loaded.agent(number)
        self._learning.request(agent)
        return agent

    async def describe(self, agent: HostedAgent, changes: dict[str, Any]) -> None:
        """Change what does not touch learning: name, metadata, display, paused."""
        async with self._describing:  # two changes at once: neither undoes the other
            row = await self._database.read(reading.agent_row, agent.number)
            if row is None:
                raise NotFound("agent", agent.id)
            fields = ("name", "metadata", "display", "paused")
            values = {f"new_{field}": changes.get(field, getattr(row, field)) for field in fields}
            await self._database.write(
                [Write(commands.DESCRIBE_AGENT, {"the_agent": agent.number, **values})]
            )
            agent.paused = values["new_paused"]

    async def delete(self, agent: HostedAgent) -> None:
        """Delete an agent: gone at once for everybody, its rows soon after."""
        now = {"the_agent": agent.number, "now": now_milliseconds()}
        await self._database.write([Write(commands.DELETE_AGENT, now)])
        agent.deleted = True
        agent.wake()
        self._broadcast.end(agent.number)
        purging = asyncio.create_task(self._purge_soon(agent))
        self._purging.add(purging)
        purging.add_done_callback(self._purging.discard)

    async def _purge_soon(self, agent: HostedAgent) -> None:
        try:
            await self._purge(agent.number, agent.next_episode)
        except PlauditError as error:  # the next start goes on with it
            extra = {"agent": agent.id, "reason": str(error)}
            log.warning("a deleted agent still has rows", extra=extra)

    async def _purge(self, number: int, episodes: int) -> None:
        for before in range(_EPISODES_AT_ONCE, episodes, _EPISODES_AT_ONCE):
            row = {"the_agent": number, "before_episode": before}
            await self._database.write([Write(commands.PURGE_STEPS, row)])
        rest = {"the_agent": number}
        await self._database.write([Write(statement, rest) for statement in commands.PURGE])
        self._loaded.agents.pop(number, None)
        self._loaded.forget_episodes_of(number)
