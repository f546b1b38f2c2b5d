"""The first page: every agent."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.api import views
from app.api.guard import JUDGE, READ, TheHost
from app.hosting.keys import Caller, check
from app.storage import reading
from app.web.session import PageRoute, link, page_guard
from app.web.templating import render

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@router.get("/")
async def agents_page(
    request: Request, host: TheHost, caller: Annotated[Caller, page_guard(READ | JUDGE)]
) -> Response:
    """The agents; who only labels is shown to the desk."""
    if not caller.may(READ):
        return RedirectResponse(link(request, "/label"), status_code=303)
    check(caller, READ)
    rows = await host.database.read(reading.agent_page, 0, 500)
    found = [views.agent_view(row, host.loaded.agents.get(row.id)) for row in rows]
    return render(request, "agents.html", agents=found)
