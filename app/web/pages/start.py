"""The start page: every agent and its success, or, on an empty server, how to begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.api.http.auth import JUDGE, READ
from app.api.http.dependencies import AgentViews
from app.service.access.keys import Caller
from app.service.views.agents import CURVE_PARTS, AgentCard
from app.web.pages.sign_in import PageRoute, link, page_guard
from app.web.render.charts import spark
from app.web.render.templates import render
from app.web.render.wording import words

router = APIRouter(include_in_schema=False, route_class=PageRoute)

PAGE = 50  # agents


@dataclass(frozen=True)
class Card:
    """An agent on the page, with its small curve as an SVG path."""

    agent: AgentCard
    spark: str


@router.get("/")
async def agents_page(
    request: Request,
    views: AgentViews,
    caller: Annotated[Caller, page_guard(READ | JUDGE)],
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
    name: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """The agents, the newest first. Labellers are redirected to the desk."""
    if not caller.may(READ):
        return RedirectResponse(link(request, "/label"), status_code=303)
    agents, total = await views.cards(caller.sees, (page - 1) * PAGE, PAGE, name)
    if total == 0 and not name:
        return render(request, "welcome.html", server=str(request.base_url).rstrip("/"), **words())
    return render(
        request,
        "agents.html",
        cards=[Card(agent, spark(agent.curve, CURVE_PARTS)) for agent in agents],
        total=total,
        page=page,
        pages=max(1, -(-total // PAGE)),
        wanted=name,
        **words(),
    )
