"""For operators: liveness, readiness and metrics."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from app.api.http.auth import ServerReader
from app.api.http.dependencies import Readiness
from app.api.openapi.responses import declared
from app.wire.operations import Health

router = APIRouter(tags=["operations"])

VERSION = version("plaudit")


@router.get("/healthz", summary="Alive?", responses=declared(guarded=False))
async def read_health() -> Health:
    """Whether the process responds."""
    return Health(status="ok", version=VERSION)


@router.get(
    "/readyz",
    summary="Ready?",
    response_model=Health,
    responses={
        503: {"model": Health, "description": "The server is starting or unavailable"},
        **declared(guarded=False),
    },
)
async def read_readiness(readiness: Readiness) -> Response:
    """Whether the database takes reads and writes and a learning process has started."""
    state = await readiness.state()
    health = Health(status=state.status, version=VERSION, reason=state.reason)
    return JSONResponse(health.model_dump(), status_code=200 if state.status == "ok" else 503)


@router.get(
    "/metrics",
    summary="Read metrics",
    response_class=PlainTextResponse,
    responses={
        200: {
            "description": "Prometheus' text format",
            "content": {"text/plain": {"example": "plaudit_steps_total 1234.0\n"}},
        },
        **declared(),
    },
)
async def read_metrics(request: Request, _: ServerReader) -> Response:
    """The metrics in the text format of Prometheus."""
    return Response(request.app.state.metrics.render(), media_type=CONTENT_TYPE_LATEST)
