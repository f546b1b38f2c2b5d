"""The page for operators: is the server well, what does it learn, how much does it hold."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.api.http.auth import READ
from app.api.http.dependencies import SystemViews
from app.service.access.keys import Caller
from app.web.pages.sign_in import PageRoute, page_guard
from app.web.render.templates import render
from app.web.render.wording import words

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@router.get("/system")
async def system_page(
    request: Request, views: SystemViews, caller: Annotated[Caller, page_guard(READ)]
) -> Response:
    """The state of the whole server. Keys that are bound to some agents do not see it."""
    caller.sees.check_unbound()
    view = await views.read()
    return render(
        request,
        "system.html",
        system=view,
        version=request.app.version,
        megabytes=f"{view.totals.bytes / 1e6:,.1f}",
        **words(),
    )
