"""Who may call what: a dependency of every route that checks the caller's role."""

from __future__ import annotations

import hmac
from typing import Annotated, Any

from fastapi import Depends, Request

from app.errors import Forbidden
from app.service.access.keys import Caller, Role, check
from app.service.runtime.container import Container

READ = frozenset({Role.viewer})
READ_EPISODES = frozenset({Role.viewer, Role.labeller})
ACT = frozenset({Role.actor})
JUDGE = frozenset({Role.labeller})
OPERATE = frozenset({Role.operator})
ADMINISTER = frozenset({Role.admin})

COOKIE = "plaudit_session"
TOKEN = "x-csrf-token"
_SAFE = ("GET", "HEAD", "OPTIONS")


def host_of(request: Request) -> Container:
    """The container that serves a request."""
    host: Container = request.app.state.container
    return host


def guard(allowed: frozenset[Role]) -> Any:
    """The dependency that lets only some roles through."""

    async def caller(request: Request) -> Caller:
        host: Container = request.app.state.container
        headers = request.headers
        authorization = headers.get("authorization")
        if authorization is None and (headers.get("cookie") or headers.get("sec-fetch-site")):
            found = await browser(request, host)
        else:
            found = await host.keys.caller(authorization)
        check(found, allowed)
        return found

    return Depends(caller)


async def browser(request: Request, host: Container) -> Caller:
    """Who a request without a key comes from: a browser says so with the cookie of its session."""
    headers, changes = request.headers, request.method not in _SAFE
    if changes and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise Forbidden("a page of another site may not do this")
    session = await host.sessions.read(request.cookies.get(COOKIE))
    if session is None:
        return await host.keys.caller(None)
    if changes and host.keys.are_on:
        given = headers.get(TOKEN, "").encode()
        if not hmac.compare_digest(given, session.token.encode()):
            raise Forbidden("a session needs its token: X-CSRF-Token, as the page has it")
    return session.caller


TheContainer = Annotated[Container, Depends(host_of)]
