"""The page of sessions: the devices that are signed in, each with a button that ends it."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.api.http.dependencies import Sessions
from app.service.access.keys import Caller, Role
from app.service.runtime.times import moment
from app.web.pages.sign_in import PageRoute, form_of, link, page_guard
from app.web.render.templates import render
from app.web.render.wording import words

router = APIRouter(include_in_schema=False, route_class=PageRoute)

SignedIn = Annotated[Caller, page_guard(frozenset(Role))]

# The first that is found: most browsers also name those that they are like.
_BROWSERS = {
    "Edg": "Edge",
    "OPR": "Opera",
    "Firefox": "Firefox",
    "Chrome": "Chrome",
    "Safari": "Safari",
}
_SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


@router.get("/sessions")
async def sessions_page(request: Request, sessions: Sessions, caller: SignedIn) -> Response:
    """The sessions of the caller's key; for an admin those of all keys."""
    return render(
        request,
        "sessions.html",
        devices=await sessions.devices(caller),
        shows_keys=caller.role is Role.admin,
        device_name=device_name,
        moment=moment,
        **words(),
    )


@router.post("/sessions/{session}/end")
async def end_session(
    request: Request, session: str, sessions: Sessions, caller: SignedIn
) -> Response:
    """End one session."""
    await form_of(request)
    await sessions.end(caller, session)
    return RedirectResponse(link(request, "/sessions"), status_code=303)


@router.post("/sessions/end-others")
async def end_other_sessions(request: Request, sessions: Sessions, caller: SignedIn) -> Response:
    """End the sessions of the caller's key on all other devices."""
    await form_of(request)
    await sessions.end_others(caller)
    return RedirectResponse(link(request, "/sessions"), status_code=303)


def device_name(user_agent: str) -> str:
    """A browser and its system, such as "Firefox on Linux"."""
    browser = _first(_BROWSERS, user_agent)
    system = _first(_SYSTEMS, user_agent)
    if browser is None:
        return user_agent[:60] or "Unknown device"
    return browser if system is None else f"{browser} on {system}"


def _first(names: dict[str, str], user_agent: str) -> str | None:
    return next((name for mark, name in names.items() if re.search(mark, user_agent)), None)
