"""Authentication: dependencies that find the caller of a request and check its role."""

from __future__ import annotations

import hmac
from typing import Annotated, Any

from fastapi import Depends, Request

from app.api.http.dependencies import container_of
from app.errors import Forbidden
from app.service.access.keys import Caller, Role, check

READ = frozenset({Role.viewer})
READ_EPISODES = frozenset({Role.viewer, Role.labeller})
ACT = frozenset({Role.actor})
JUDGE = frozenset({Role.labeller})
OPERATE = frozenset({Role.operator})
ADMINISTER = frozenset({Role.admin})

COOKIE = "plaudit_session"
TOKEN = "x-csrf-token"
_SAFE = ("GET", "HEAD", "OPTIONS")


def guard(allowed: frozenset[Role]) -> Any:
    """A dependency that returns the caller, or refuses a role that is not allowed."""

    async def caller(request: Request) -> Caller:
        headers = request.headers
        authorization = headers.get("authorization")
        if authorization is None and (headers.get("cookie") or headers.get("sec-fetch-site")):
            found = await _browser_caller(request)
        else:
            found = await container_of(request).keys.caller(authorization)
        check(found, allowed)
        return found

    return Depends(caller)


async def _browser_caller(request: Request) -> Caller:
    """The caller of a browser's request, by its session cookie.

    Requests that change something need the session's token, and must not come from another site.
    """
    container, headers = container_of(request), request.headers
    changes = request.method not in _SAFE
    if changes and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise Forbidden("A page of another site may not do this.")
    session = await container.sessions.read(request.cookies.get(COOKIE))
    if session is None:
        return await container.keys.caller(None)
    if changes and container.keys.are_on:
        given = headers.get(TOKEN, "").encode()
        if not hmac.compare_digest(given, session.token.encode()):
            raise Forbidden("Requests of a session need its token in X-CSRF-Token.")
    return session.caller


Reader = Annotated[Caller, guard(READ)]
EpisodeReader = Annotated[Caller, guard(READ_EPISODES)]
Actor = Annotated[Caller, guard(ACT)]
Labeller = Annotated[Caller, guard(JUDGE)]
Operator = Annotated[Caller, guard(OPERATE)]
Administrator = Annotated[Caller, guard(ADMINISTER)]
