"""Agents: create, list, read, change, delete."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Request, Response

from app.api.http.auth import AgentCreator, AgentReader, Operator
from app.api.http.dependencies import AgentViews, MetadataBytes, Registry
from app.api.http.idempotency import Once
from app.api.http.json_body import JsonRoute
from app.api.http.json_stream import json_response
from app.api.http.parameters import AgentId, Cursor, Limit, check_metadata, read_cursor
from app.api.openapi.responses import created, declared, location
from app.service.access.idempotency import Remember
from app.service.agents.specification import read_specification
from app.wire.agents import AgentChanges, AgentPage, AgentView, NewAgent, Specification
from app.wire.guidelines import GuidelinesPage

log = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/agents", tags=["agents"], route_class=JsonRoute)

_SPECIFICATION = set(Specification.model_fields)


@router.post(
    "",
    status_code=201,
    summary="Create an agent",
    response_model=AgentView,
    responses=created(409, 413, 422, 503),
)
async def create_agent(
    request: Request,
    body: NewAgent,
    registry: Registry,
    views: AgentViews,
    metadata_bytes: MetadataBytes,
    caller: AgentCreator,
    once: Once,
) -> Response:
    """Create an agent. It plans at once; its first episode waits for that plan."""
    check_metadata(body.metadata, metadata_bytes)
    display = (
        None if body.display is None else body.display.model_dump(mode="json", exclude_unset=True)
    )
    specification = read_specification(
        body.model_dump(mode="json", include=_SPECIFICATION, exclude_unset=True)
    )

    async def create(remember: Remember | None) -> AgentView:
        agent = await registry.create(
            body.name,
            specification,
            dict(body.metadata),
            display,
            remember,
            body.question,
            body.guidelines,
        )
        kind = specification.algorithm.kind
        log.info("agent created", extra={"agent": agent.id, "kind": kind, "by": caller.key})
        return await views.read(agent.id)

    view = await once.run(caller, create, views.read)
    headers = {"Location": location(request, f"/v1/agents/{view.id}")}
    return await json_response(view, 201, headers)


@router.get("", summary="List agents", response_model=AgentPage, responses=declared(422, 503))
async def list_agents(
    views: AgentViews, caller: AgentReader, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Agents in the order they were created; lists of a specification are cut where they are long.

    `shortened` names the lists that were cut.
    """
    after = 0 if cursor is None else read_cursor(cursor, 1)[0]
    page = await views.page(caller.sees, after, limit)
    return await json_response(dict(page))


@router.get(
    "/{agent}", summary="Read an agent", response_model=AgentView, responses=declared(404, 503)
)
async def read_agent(agent: AgentId, views: AgentViews, _: AgentReader) -> Response:
    """An agent: its specification and its current state."""
    return await json_response(await views.read(agent))


@router.patch(
    "/{agent}",
    summary="Change an agent",
    response_model=AgentView,
    responses=declared(404, 413, 422, 503),
)
async def change_agent(
    agent: AgentId,
    body: AgentChanges,
    registry: Registry,
    views: AgentViews,
    metadata_bytes: MetadataBytes,
    _: Operator,
) -> Response:
    """Change what does not touch learning, such as its name or its question, or pause it."""
    check_metadata(body.metadata or {}, metadata_bytes)
    hosted = await registry.find(agent)
    await registry.describe(hosted, body)
    return await json_response(await views.read(agent))


@router.get(
    "/{agent}/guidelines", summary="Every version of the guidelines", responses=declared(404, 503)
)
async def list_guidelines(agent: AgentId, views: AgentViews, _: AgentReader) -> GuidelinesPage:
    """Every version of its question and guidelines; labels keep the version they were judged by."""
    return await views.guidelines(agent)


@router.delete("/{agent}", status_code=204, summary="Delete an agent", responses=declared(404, 503))
async def delete_agent(agent: AgentId, registry: Registry, caller: Operator) -> None:
    """Delete an agent with all its episodes."""
    await registry.delete(agent)
    log.info("agent deleted", extra={"agent": agent, "by": caller.key})
