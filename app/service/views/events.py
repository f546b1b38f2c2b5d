"""The events of an agent as a stream: stored events first, then new ones as they happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from app.service.access.keys import ANYONE, Caller
from app.service.agents.hosted_agent import HostedAgent
from app.service.runtime.cache import Cache
from app.service.runtime.event_bus import EventBus, Listener
from app.service.runtime.ids import agent_id, episode_id, read_agent_id
from app.service.runtime.times import moment
from app.storage.database import Database
from app.storage.queries import events as event_queries
from app.storage.rows import EventKind, EventRow
from app.wire.base import JsonObject

_PAGE = 500  # stored events that are read at once
_NAMES = {
    EventKind.finished: "episode.finished",
    EventKind.reported: "episode.reported",
    EventKind.abandoned: "episode.abandoned",
    EventKind.given_up: "episode.abandoned",
    EventKind.labelled: "label.given",
    EventKind.withdrawn: "label.withdrawn",
    EventKind.settled: "label.settled",
    EventKind.cannot_tell: "label.cannot_tell",
    EventKind.retracted: "label.withdrawn",
    EventKind.policy: "policy.replaced",
    EventKind.pinned: "policy.pinned",
    EventKind.unpinned: "policy.unpinned",
}
EVENT_NAMES = tuple(dict.fromkeys(_NAMES.values()))


@dataclass(frozen=True)
class PublicEvent:
    """An event as clients receive it."""

    number: int
    name: str
    data: JsonObject


class EventFeed:
    """Follows the events of agents."""

    def __init__(self, database: Database, cache: Cache, events: EventBus) -> None:
        self._database = database
        self._cache = cache
        self._events = events

    async def open(
        self,
        agent: str,
        after: int | None,
        heartbeat_seconds: float,
        caller: Caller = ANYONE,
    ) -> AsyncGenerator[PublicEvent | None]:
        """The events of an agent after a number, or from now on.

        They end when the caller's key is revoked, or its session is over. None is a heartbeat:
        nothing has happened for ``heartbeat_seconds``.
        """
        hosted = await self._cache.agent(read_agent_id(agent))
        first = hosted.last_event if after is None else after
        listener = Listener(hosted.number, caller.key, caller.session)
        return self._follow(hosted, listener, first, heartbeat_seconds)

    async def _follow(
        self, agent: HostedAgent, listener: Listener, after: int, heartbeat_seconds: float
    ) -> AsyncGenerator[PublicEvent | None]:
        self._events.add(listener)  # first, so that nothing is missed
        try:
            while rows := await self._database.read(
                event_queries.event_rows, agent.number, after, _PAGE
            ):
                for row in rows:
                    after = row.number
                    yield _public(row)
            while True:
                try:
                    event = await asyncio.wait_for(listener.events.get(), heartbeat_seconds)
                except TimeoutError:
                    yield None
                    continue
                if event is None:  # the agent was deleted, the key revoked, or the server stops
                    return
                if event.number > after:
                    after = event.number
                    yield _public(event)
        finally:
            self._events.remove(listener)


def _public(event: EventRow) -> PublicEvent:
    data: JsonObject = {"agent": agent_id(event.agent), "number": event.number}
    if event.episode is not None:
        data["episode"] = episode_id(event.agent, event.episode)
    if event.label is not None:
        data["label"] = event.label
    if event.policy_version is not None:
        data["policy_version"] = event.policy_version
    data["at"] = moment(event.at).isoformat().replace("+00:00", "Z")
    return PublicEvent(event.number, _NAMES[event.kind], data)
