"""The ASGI application: `create_app(settings)`. The lifespan opens the service."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from app.api.http import problems
from app.api.http.attempts import Attempts
from app.api.http.gate import Gate
from app.api.openapi.document import ABOUT, describe, operation_name
from app.api.routes import (
    agents,
    demos,
    docs,
    episodes,
    fleets,
    insights,
    keys,
    labels,
    operations,
    policies,
    recordings,
    starts,
    steps,
    webhooks,
)
from app.metrics import Metrics
from app.service.runtime.container import open_container
from app.settings import Settings
from app.web.pages import agent, desk, episode, errors, labellers, sessions, sign_in, start, system
from app.web.pages import demos as demo_pages
from app.web.render import assets

log = logging.getLogger(__name__)

_OWN_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")


def create_app(settings: Settings) -> FastAPI:
    """Create the application of one server."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_container(settings, app.state.metrics) as container:
            app.state.container = container
            yield
        log.info("stopped")

    app = FastAPI(
        title="Plaudit",
        version=operations.VERSION,
        description=ABOUT,
        lifespan=lifespan,
        root_path=settings.root_path,
        separate_input_output_schemas=False,
        generate_unique_id_function=operation_name,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.metrics = Metrics()
    app.state.sign_in_attempts = Attempts(settings.sign_in_attempts)
    app.state.large_bodies = asyncio.Semaphore(1)  # parsed at the same time
    app.router.routes.extend(steps.router.routes)  # first, so that these routes are found at once
    for part in (
        agents,
        starts,
        episodes,
        labels,
        recordings,
        fleets,
        insights,
        policies,
        keys,
        webhooks,
        demos,
        operations,
        docs,
    ):
        app.include_router(part.router)
    for page in (
        sign_in,
        sessions,
        assets,
        desk,
        start,
        demo_pages,
        agent,
        episode,
        labellers,
        system,
    ):
        app.include_router(page.router)
    app.include_router(desk.pages)
    problems.install(app)
    errors.install(app)
    app.add_middleware(
        Gate,
        metrics=app.state.metrics,
        body_bytes=settings.body_bytes,
        recording_bytes=settings.recording_bytes,
        host_is_allowed=_host_rule(app, settings),
    )
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    return app


def _host_rule(app: FastAPI, settings: Settings) -> Any:
    """Without keys only the names of this machine are served: a web page cannot reach it."""

    def is_allowed(name: str) -> bool:
        if settings.allow_anyone or app.state.container.keys.are_on:
            return True
        return name in served_names or name.rpartition(":")[0] in served_names

    served_names = {*_OWN_NAMES, settings.host}
    return is_allowed
