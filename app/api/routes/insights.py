"""What an agent has learned: its model, its policy, its learning curve and its events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, format_sse_event

from app.api.http.auth import AgentReader, Reader
from app.api.http.dependencies import CurveViews, Documents, EventFeed
from app.api.http.json_body import JsonRoute
from app.api.http.json_stream import json_response
from app.api.http.parameters import AgentId
from app.api.openapi.responses import declared
from app.errors import InvalidValue
from app.service.views.events import PublicEvent
from app.wire.insight import CurveView, ModelView, PolicyView

router = APIRouter(prefix="/v1/agents/{agent}", tags=["insight"], route_class=JsonRoute)

_HEARTBEAT_SECONDS = 15.0
_TAGGED = {"ETag": {"description": "names this policy", "schema": {"type": "string"}}}
_EVENT = {
    "schema": {"type": "string"},
    "example": 'event: label.given\ndata: {"agent": "agt_0123456789", "number": 12, "episode": '
    '"eps_0123456789_3", "label": 1, "at": "2026-01-02T03:04:05.678000Z"}\nid: 12\n\n',
}


@router.get(
    "/model",
    summary="Read the learned model",
    response_model=ModelView,
    responses=declared(404, 503),
)
async def read_model(agent: AgentId, documents: Documents, _: Reader) -> Response:
    """The learned weights, visit counts, transition estimate and bonuses."""
    return await json_response(await documents.model(agent))


@router.get(
    "/policy",
    summary="Read the policy in force",
    response_model=PolicyView,
    responses={
        200: {"headers": _TAGGED},
        304: {"description": "The policy has not changed", "headers": _TAGGED},
        **declared(404, 422, 503),
    },
)
async def read_policy(
    agent: AgentId,
    documents: Documents,
    _: AgentReader,
    mode: Annotated[
        Literal["learn", "exploit"], Query(description="`exploit` is the policy with no bonuses")
    ] = "learn",
    episode: Annotated[
        str | None, Query(description="the policy that this running episode is pinned to")
    ] = None,
    if_none_match: Annotated[
        str | None,
        Header(description="the `ETag` of an earlier response; 304 if the policy has not changed"),
    ] = None,
) -> Response:
    """The policy as a documented table, to run without the server. See the page on policies."""
    document = await documents.policy(agent, mode, episode)
    tag = f'"{document.tag}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if if_none_match is not None and tag in (
        known.strip().removeprefix("W/") for known in if_none_match.split(",")
    ):
        return Response(status_code=304, headers=headers)
    return await json_response(document.content(), headers=headers)


@router.get("/learning-curve", summary="Read the learning curve", responses=declared(404, 503))
async def read_curve(agent: AgentId, curves: CurveViews, _: Reader) -> CurveView:
    """The learning curve: observed success with its interval, and the value of every policy."""
    return await curves.read(agent)


@router.get(
    "/events",
    summary="Stream events",
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
    feed: EventFeed,
    caller: AgentReader,
    last_event_id: Annotated[
        str | None,
        Header(description="the last event that was received; the stream continues after it"),
    ] = None,
) -> StreamingResponse:
    """Server-sent events: episodes that ended, labels, new policies.

    With `Last-Event-ID` the stream continues after that event, so that no event is missed.
    """
    events = await feed.open(agent, _event_number(last_event_id), _HEARTBEAT_SECONDS, caller)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return EventSourceResponse(_stream(events, request), headers=headers)


def _event_number(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidValue("?Last-Event-ID", "the id of an event")
    return int(text)


# FastAPI formats the events. Its generator routes are not used, because they would open a stream
# for an unknown agent instead of answering 404. sse-starlette is not used, because it patches
# uvicorn's signal handling; our server ends its streams at shutdown.
async def _stream(
    events: AsyncGenerator[PublicEvent | None], request: Request
) -> AsyncIterator[bytes]:
    yield format_sse_event(comment="listening")
    async with aclosing(events):
        async for event in events:
            if event is not None:
                data = json.dumps(event.data)
                yield format_sse_event(data_str=data, event=event.name, id=str(event.number))
            elif await request.is_disconnected():
                return
            else:
                yield format_sse_event(comment="still here")
