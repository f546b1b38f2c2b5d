"""Demos from the start page: start one, and remove it with one click."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.api.http.auth import OPERATE
from app.api.http.dependencies import AgentViews, Demos, Registry
from app.errors import InvalidValue, NotFound
from app.service.access.keys import Caller
from app.service.demo.demos import DemoJudge, DemoRequest
from app.web.pages.sign_in import PageRoute, form_of, link, page_guard

router = APIRouter(include_in_schema=False, route_class=PageRoute)

Operator = Annotated[Caller, page_guard(OPERATE)]


@router.post("/demos")
async def start_demo(request: Request, demos: Demos, caller: Operator) -> Response:
    """Start a demo, then show the desk to those who judge and the agent to those who watch."""
    fields = await form_of(request)
    caller.sees.check_unbound()
    try:
        judge = DemoJudge(fields.get("judge", ""))
    except ValueError as error:
        raise InvalidValue("judge", "people or simulated") from error
    demo = await demos.start(DemoRequest(fields.get("task", ""), judge))
    if judge is DemoJudge.people:
        target = link(request, "/label", agent=demo.agent.id)
    else:
        target = link(request, f"/agents/{demo.agent.id}")
    return RedirectResponse(target, status_code=303)


@router.post("/demos/{agent}/remove")
async def remove_demo(
    request: Request, agent: str, registry: Registry, views: AgentViews, _: Operator
) -> Response:
    """Delete the agent of a demo with everything that it learned."""
    await form_of(request)
    if "demo" not in (await views.read(agent)).metadata:
        raise NotFound("demo", agent)
    await registry.delete(agent)
    return RedirectResponse(link(request, "/"), status_code=303)
