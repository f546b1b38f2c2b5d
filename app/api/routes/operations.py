"""For operators: alive, ready, and numbers to watch."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from app.api.http.auth import READ, TheContainer, guard
from app.api.http.problems import declared
from app.errors import PlauditError
from app.service.access.keys import Caller
from app.storage.queries import reading
from app.wire.operations import Health

router = APIRouter(tags=["operations"])

VERSION = version("plaudit")


@router.get("/healthz", summary="Alive?", responses=declared(guarded=False))
async def read_health() -> Health:
    """Whether the process answers at all."""
    return Health(status="ok", version=VERSION)


@router.get(
    "/readyz",
    summary="Ready?",
    response_model=Health,
    responses={
        503: {"model": Health, "description": "Not yet, or not now"},
        **declared(guarded=False),
    },
)
async def read_readiness(host: TheContainer) -> Response:
    """Whether the database answers and a learning process has come up."""
    state = "ok" if host.processes.ready else "starting"
    try:
        await host.database.read(reading.last_position)
    except PlauditError:
        state = "unavailable"
    body = {"status": state, "version": VERSION}
    return JSONResponse(body, status_code=200 if state == "ok" else 503)


@router.get(
    "/metrics",
    summary="Numbers for Prometheus",
    response_class=PlainTextResponse,
    responses={
        200: {
            "description": "Prometheus' text form",
            "content": {"text/plain": {"example": "plaudit_steps_total 1234.0\n"}},
        },
        **declared(),
    },
)
async def read_metrics(host: TheContainer, _: Annotated[Caller, guard(READ)]) -> Response:
    """In Prometheus' text form."""
    return Response(host.metrics.render(), media_type=CONTENT_TYPE_LATEST)
