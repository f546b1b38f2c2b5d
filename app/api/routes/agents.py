"""Agents: create, list, read, change, delete."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import APIRouter, Request, Response

from app.api.http import checks
from app.api.http.auth import OPERATE, READ, TheContainer, guard
from app.api.http.created import created, location
from app.api.http.idempotency import IdempotencyKey, once
from app.api.http.parameters import AgentId, Cursor, Limit
from app.api.http.problems import declared
from app.errors import NotFound
from app.service.access.idempotency import Remember
from app.service.access.keys import Caller
from app.service.agents.specification import read_specification
from app.service.runtime.container import Container
from app.service.runtime.ids import agent_id, read_agent_id
from app.service.views import wire_views
from app.storage.queries import reading
from app.wire.agents import AgentChanges, AgentPage, AgentView, NewAgent, Specification

log = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/agents", tags=["agents"])

_SPECIFICATION = set(Specification.model_fields)


@router.post(
    "",
    status_code=201,
    summary="Create an agent",
    responses=created(409, 413, 422, 503),
)
async def create_agent(
    request: Request,
    response: Response,
    body: NewAgent,
    host: TheContainer,
    caller: Annotated[Caller, guard(OPERATE)],
    idempotency_key: IdempotencyKey = None,
) -> AgentView:
    """Create an agent. It plans at once; its first episode waits for that plan."""
    checks.bounded(body.metadata, host.settings.metadata_bytes)
    display = None if body.display is None else body.display.model_dump(mode="json")
    given = body.model_dump(mode="json", include=_SPECIFICATION, exclude_unset=True)
    specification = read_specification(given)

    async def act(remember: Remember | None) -> AgentView:
        agent = await host.roster.create(
            body.name, specification, dict(body.metadata), display, remember
        )
        kind = specification.algorithm.kind
        log.info("agent created", extra={"agent": agent.id, "kind": kind, "by": caller.key})
        return await show(host, agent.number)

    async def again(made: str) -> AgentView:
        return await show(host, read_agent_id(made))

    view = await once(request, host, caller, idempotency_key, act, again)
    response.headers["Location"] = location(request, f"/v1/agents/{view.id}")
    return view


@router.get("", summary="List agents", responses=declared(422, 503))
async def list_agents(
    host: TheContainer,
    _: Annotated[Caller, guard(READ)],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> AgentPage:
    """Agents in the order they were created."""
    after = 0 if cursor is None else checks.cursor(cursor, 1)[0]
    rows = await host.database.read(reading.agent_page, after, limit + 1)
    items = [wire_views.agent_view(row, host.loaded.agents.get(row.id)) for row in rows[:limit]]
    return AgentPage(items=items, next=str(rows[limit - 1].position) if len(rows) > limit else None)


@router.get("/{agent}", summary="Read an agent", responses=declared(404, 503))
async def read_agent(
    agent: AgentId, host: TheContainer, _: Annotated[Caller, guard(READ)]
) -> AgentView:
    """An agent: its specification and where it stands."""
    return await show(host, read_agent_id(agent))


@router.patch("/{agent}", summary="Change an agent", responses=declared(404, 413, 422, 503))
async def change_agent(
    agent: AgentId,
    body: AgentChanges,
    host: TheContainer,
    _: Annotated[Caller, guard(OPERATE)],
) -> AgentView:
    """Change its name, metadata or display, or pause it."""
    changes = body.model_dump(mode="json", exclude_unset=True)
    checks.bounded(body.metadata or {}, host.settings.metadata_bytes)
    hosted = await host.loaded.agent(read_agent_id(agent))
    await host.roster.describe(hosted, changes)
    return await show(host, hosted.number)


@router.delete("/{agent}", status_code=204, summary="Delete an agent", responses=declared(404, 503))
async def delete_agent(
    agent: AgentId, host: TheContainer, caller: Annotated[Caller, guard(OPERATE)]
) -> None:
    """Delete an agent with all its episodes."""
    hosted = await host.loaded.agent(read_agent_id(agent))
    await host.roster.delete(hosted)
    log.info("agent deleted", extra={"agent": hosted.id, "by": caller.key})


async def show(host: Container, number: int) -> AgentView:
    """The view of an agent; it is loaded, for what its plan is worth."""
    agent = await host.loaded.agent(number)
    row = await host.database.read(reading.agent_row, number)
    if row is None:
        raise NotFound("agent", agent_id(number))
    return wire_views.agent_view(row, agent)
