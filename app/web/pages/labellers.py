"""The page of labellers: their speed and agreement, and labels that the model contradicts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.api.http.auth import READ
from app.api.http.dependencies import LabellerViews
from app.service.access.keys import Caller
from app.web.pages.sign_in import PageRoute, page_guard
from app.web.render.templates import render
from app.web.render.wording import words

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@router.get("/labellers")
async def labellers_page(
    request: Request, views: LabellerViews, caller: Annotated[Caller, page_guard(READ)]
) -> Response:
    """Statistics of labellers, from the newest labels of the agents that the caller sees."""
    return render(request, "labellers.html", report=await views.report(caller.sees), **words())
