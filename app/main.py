"""The application: `create_app(settings)`; the lifespan builds everything, nothing is global."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from app.api import agents, episodes, fleets, insights, keys, labels, operations, problems
from app.api.gate import Gate
from app.api.problems import Problem
from app.hosting.host import Host, open_host
from app.metrics import Metrics
from app.settings import Settings

log = logging.getLogger(__name__)

_OWN_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")

_ABOUT = """
Agents that learn from **one good/bad verdict at the end of an episode**.

1. `POST /v1/agents`: say what states and actions there are.
2. `POST /v1/agents/{agent}/episodes`: start an episode.
3. `POST /v1/episodes/{episode}/steps`: send a state, get an action; again until `last`,
   or `finish` when the environment ends it.
4. `POST /v1/episodes/{episode}/label`: one verdict, now or much later. The agent learns from it and
   plans anew before the next episode.

Errors are `application/problem+json`. Every POST that creates something takes an `Idempotency-Key`.
"""


def create_app(settings: Settings) -> FastAPI:
    """The application of one server."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_host(settings, app.state.metrics) as host:
            app.state.host = host
            log.info("serving", extra={"database": settings.database_url, "keys": _keys(host)})
            yield
        log.info("stopped")

    app = FastAPI(
        title="Plaudit",
        version=operations.VERSION,
        description=_ABOUT,
        lifespan=lifespan,
        root_path=settings.root_path,
        separate_input_output_schemas=False,
    )
    app.state.metrics = Metrics()
    for part in (agents, episodes, labels, fleets, insights, keys, operations):
        app.include_router(part.router)
    problems.install(app)
    app.add_middleware(
        Gate,
        metrics=app.state.metrics,
        body_bytes=settings.body_bytes,
        host_is_allowed=_host_rule(app, settings),
    )
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _keys(host: Host) -> str:
    return "on" if host.keys.are_on else "off"


def _host_rule(app: FastAPI, settings: Settings) -> Any:
    """Without keys only this machine's own names are served, so that no web page can get in."""

    def is_allowed(name: str) -> bool:
        if settings.allow_anyone or app.state.host.keys.are_on:
            return True
        return name in own or name.rpartition(":")[0] in own

    own = {*_OWN_NAMES, settings.host}
    return is_allowed


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The description of the interface, with the one schema that every problem has."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            servers=[{"url": app.root_path}] if app.root_path else None,
        )
        own = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        parts = own.pop("$defs", {})
        schemas = schema.setdefault("components", {}).setdefault("schemas", {})
        schemas |= {"Problem": own, **parts}
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        app.openapi_schema = schema
    return app.openapi_schema
