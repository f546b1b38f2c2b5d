"""The first page: every agent, how it does, and what waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy import Connection

from app.api.http.auth import JUDGE, READ, TheContainer
from app.service.access.keys import Caller, check
from app.service.runtime.container import Container
from app.service.runtime.ids import agent_id
from app.storage.queries import browsing
from app.web.pages.sign_in import PageRoute, link, page_guard
from app.web.render.charts import spark
from app.web.render.templates import render
from app.web.render.wording import words
from app.wire.agents import DEFAULT_KIND

router = APIRouter(include_in_schema=False, route_class=PageRoute)

PAGE = 50


@dataclass(frozen=True)
class Line:
    """An agent on the page."""

    id: str
    name: str
    kind: str
    paused: bool
    success: float | None
    labelled: int
    waiting: int
    running: int
    learning: str
    error: str | None
    spark: str


@router.get("/")
async def agents_page(
    request: Request,
    host: TheContainer,
    caller: Annotated[Caller, page_guard(READ | JUDGE)],
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
    name: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """The agents, the newest first; who only labels is shown to the desk."""
    if not caller.may(READ):
        return RedirectResponse(link(request, "/label"), status_code=303)
    check(caller, READ)
    rows, total, curves = await host.database.read(_read, page, name)
    return render(
        request,
        "agents.html",
        agents=[_line(host, row, curves.get(row.id, [])) for row in rows],
        total=total,
        page=page,
        pages=max(1, -(-total // PAGE)),
        wanted=name,
        **words(),
    )


def _read(
    connection: Connection, page: int, name: str
) -> tuple[Sequence[Any], int, dict[int, list[tuple[int, int, int]]]]:
    rows, total = browsing.agents_around(connection, (page - 1) * PAGE, PAGE, name)
    return rows, total, browsing.sparks(connection, [row.id for row in rows])


def _line(host: Container, row: Any, curve: list[tuple[int, int, int]]) -> Line:
    loaded = host.loaded.agents.get(row.id)
    error = loaded.learning_error if loaded else row.learning_error
    idle = "failed" if error else "idle"
    algorithm = row.specification.get("algorithm") or {}
    return Line(
        id=agent_id(row.id),
        name=row.name,
        kind=algorithm.get("kind", DEFAULT_KIND),
        paused=row.paused,
        success=row.good / row.labelled if row.labelled else None,
        labelled=row.labelled,
        waiting=row.awaiting_label,
        running=row.running,
        learning=loaded.learning if loaded else idle,
        error=error,
        spark=spark(curve, browsing.SPARK_POINTS),
    )
