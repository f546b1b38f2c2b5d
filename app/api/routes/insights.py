"""What an agent has learned: its model, its policy, its learning curve, and events as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from app.api.http.auth import READ, TheContainer, guard
from app.api.http.parameters import AgentId
from app.api.http.problems import declared
from app.errors import InvalidValue
from app.service.access.keys import Caller
from app.service.agents.hosted_agent import Event, HostedAgent
from app.service.runtime.container import Container
from app.service.runtime.ids import read_agent_id
from app.service.views.curves import observed, thinned
from app.service.views.documents import model_document, policy_document
from app.service.views.wire_views import moment
from app.storage.queries import labelling, reading
from app.wire.insight import CurveView, ModelView, PolicyView

router = APIRouter(prefix="/v1/agents/{agent}", tags=["insight"])

_HEARTBEAT_SECONDS = 15.0
_PAGE = 500
_TAGGED = {"ETag": {"description": "names this policy", "schema": {"type": "string"}}}
_EVENT = {
    "schema": {"type": "string"},
    "example": 'id: 12\nevent: label.given\ndata: {"agent": "agt_0123456789", "number": 12, '
    '"episode": "eps_0123456789_3", "label": 1, "at": "2026-01-02T03:04:05.678000Z"}\n\n',
}
_NAMES = {
    "finished": "episode.finished",
    "reported": "episode.reported",
    "abandoned": "episode.abandoned",
    "given_up": "episode.abandoned",
    "labelled": "label.given",
    "withdrawn": "label.withdrawn",
    "settled": "label.settled",
    "policy": "policy.replaced",
}


@router.get(
    "/model",
    summary="What the agent believes",
    response_model=ModelView,
    responses=declared(404, 503),
)
async def read_model(
    agent: AgentId, host: TheContainer, _: Annotated[Caller, guard(READ)]
) -> Response:
    """The learned weights, visit counts, transition estimate and bonuses."""
    hosted = await host.loaded.agent(read_agent_id(agent))
    insight = await host.loaded.insight(hosted)
    return JSONResponse(await asyncio.to_thread(model_document, hosted, insight))


@router.get(
    "/policy",
    summary="The policy in force, to run by yourself",
    response_model=PolicyView,
    responses={
        200: {"headers": _TAGGED},
        304: {"description": "It has not changed", "headers": _TAGGED},
        **declared(404, 422, 503),
    },
)
async def read_policy(
    agent: AgentId,
    host: TheContainer,
    _: Annotated[Caller, guard(READ)],
    mode: Annotated[
        Literal["learn", "exploit"], Query(description="`exploit` is the policy with no bonuses")
    ] = "learn",
    episode: Annotated[
        str | None, Query(description="the policy that this running episode is pinned to")
    ] = None,
    if_none_match: Annotated[
        str | None, Header(description="an `ETag` that was read before; 304 if it is still that")
    ] = None,
) -> Response:
    """A documented form that needs nothing of ours; numbers that acting draws are addressed."""
    hosted = await host.loaded.agent(read_agent_id(agent))
    number = hosted.next_episode
    plan = hosted.plan_for(number, mode)
    if episode is not None:
        pinned = await host.loaded.episode(episode)
        if pinned.agent is not hosted or pinned.plan is None:
            raise InvalidValue("?episode", "a running episode of this agent")
        number, plan = pinned.number, pinned.plan
    tag = f'"{plan.version}.{plan.episode}.{number}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if if_none_match is not None and tag in (t.strip() for t in if_none_match.split(",")):
        return Response(status_code=304, headers=headers)
    document = await asyncio.to_thread(policy_document, hosted, plan, number)
    return JSONResponse(document, headers=headers)


@router.get("/learning-curve", summary="How it has been doing", responses=declared(404, 503))
async def read_curve(
    agent: AgentId, host: TheContainer, _: Annotated[Caller, guard(READ)]
) -> CurveView:
    """What the dashboard draws: observed success with its interval, and every policy's promise."""
    hosted = await host.loaded.agent(read_agent_id(agent))
    labels = await host.database.read(labelling.verdicts_of, hosted.number)
    versions = await host.database.read(reading.version_rows, hosted.number)
    return CurveView.model_validate(
        {
            "agent": hosted.id,
            "observed": observed([(row.number, row.label) for row in labels]),
            "policies": [_version(row) for row in thinned(versions)],
        }
    )


def _version(row: Any) -> dict[str, Any]:
    names = ("version", "episodes", "labels", "planner", "value", "gap", "predicted", "seconds")
    return {name: getattr(row, name) for name in names} | {"at": moment(row.at)}


@router.get(
    "/events",
    summary="Events as they come",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "server-sent events",
            "content": {"text/event-stream": _EVENT},
        },
        **declared(404, 422, 503),
    },
)
async def stream_events(
    request: Request,
    agent: AgentId,
    host: TheContainer,
    _: Annotated[Caller, guard(READ)],
    last_event_id: Annotated[str | None, Header(description="read on after this one")] = None,
) -> StreamingResponse:
    """Episodes over, labels given, policies replaced; with `Last-Event-ID` nothing is missed."""
    hosted = await host.loaded.agent(read_agent_id(agent))
    after = hosted.last_event
    if last_event_id is not None:
        if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 10):
            raise InvalidValue("?Last-Event-ID", "the id of an event")
        after = int(last_event_id)
    stream = _stream(host, hosted, after, request)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _stream(
    host: Container, agent: HostedAgent, after: int, request: Request
) -> AsyncIterator[str]:
    queue = host.broadcast.listen(agent.number)
    try:
        yield ": listening\n\n"
        while rows := await host.database.read(reading.event_rows, agent.number, after, _PAGE):
            for row in rows:
                after = row.number
                yield _message(Event(**row._mapping))
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), _HEARTBEAT_SECONDS)
            except TimeoutError:
                if await request.is_disconnected():
                    return
                yield ": still here\n\n"
                continue
            if event is None:
                return
            if event.number > after:
                after = event.number
                yield _message(event)
    finally:
        host.broadcast.leave(agent.number, queue)


def _message(event: Event) -> str:
    body = event.public() | {"at": moment(event.at).isoformat().replace("+00:00", "Z")}
    return f"id: {event.number}\nevent: {_NAMES[event.kind]}\ndata: {json.dumps(body)}\n\n"
