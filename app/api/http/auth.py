"""Authentication: dependencies that find the caller of a request and check its role."""

from __future__ import annotations

import hmac
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request

from app.api.http.dependencies import container_of
from app.errors import Forbidden
from app.service.access.keys import ANYONE, Caller, Role, check

READ = frozenset({Role.viewer})
READ_AGENTS = frozenset({Role.viewer, Role.robot})
READ_EPISODES = frozenset({Role.viewer, Role.labeller})
ACT = frozenset({Role.actor, Role.robot})
REMOVE_RECORDINGS = frozenset({Role.actor})
JUDGE = frozenset({Role.labeller})
JUDGE_OWN = frozenset({Role.labeller, Role.robot})  # see Ownership
OPERATE = frozenset({Role.operator})
IMPORT = frozenset({Role.operator, Role.robot})
ADMINISTER = frozenset({Role.admin})

COOKIE = "plaudit_session"
TOKEN = "x-csrf-token"
_SAFE = ("GET", "HEAD", "OPTIONS")
_OF_BROWSERS = (b"cookie", b"sec-fetch-site", b"origin")


def guard(allowed: frozenset[Role], whole_server: bool = False) -> Any:
    """A dependency that returns the caller, or refuses a role that is not allowed.

    A key that is bound to some agents is refused other agents, and what concerns the whole server.
    """

    async def caller(request: Request) -> Caller:
        found: Caller | None = request.scope.get("caller")
        if found is None:
            found = request.scope["caller"] = await _caller_of(request)
        check(found, allowed)
        if found.sees.is_bound:
            check_visible(found, request, whole_server)
        return found

    caller.guards = allowed  # type: ignore[attr-defined]  # JsonRoute calls it before all else
    return Depends(caller)


def check_visible(caller: Caller, request: Request, whole_server: bool = False) -> None:
    """Refuse a request whose path or query names an agent or episode that its key does not see."""
    if whole_server:
        caller.sees.check_unbound()
    for values in (request.path_params, request.query_params):
        if "agent" in values:
            caller.sees.check_agent(values["agent"])
        if "episode" in values:
            caller.sees.check_episode(values["episode"])


async def _caller_of(request: Request) -> Caller:
    authorization, is_browser = None, False
    for name, value in request.scope["headers"]:  # one lookup, because every step runs this
        if name == b"authorization":
            authorization = value.decode("latin-1")
        elif name in _OF_BROWSERS and value:
            is_browser = True
    if authorization is None and is_browser:
        return await _browser_caller(request)
    return await container_of(request).keys.caller(authorization)


async def _browser_caller(request: Request) -> Caller:
    """The caller of a browser's request, by its session cookie.

    Requests that change something need the session's token, and must not come from another site.
    """
    container, headers = container_of(request), request.headers
    changes = request.method not in _SAFE
    if changes:
        refuse_other_sites(request)
    session = await container.sessions.read(request.cookies.get(COOKIE))
    if session is None:
        return await container.keys.caller(None)
    if changes and container.keys.are_on:
        given = headers.get(TOKEN, "").encode()
        if not hmac.compare_digest(given, session.token.encode()):
            raise Forbidden("Requests of a session need its token in X-CSRF-Token.")
    return session.caller


def refuse_other_sites(request: Request) -> None:
    """Refuse a request that a page of another site makes a browser send.

    Browsers say so in Sec-Fetch-Site, but only over HTTPS and to this machine. They send Origin
    with every POST; it must name this host. A proxy may pass the name on as X-Forwarded-Host, a
    header that no page can set for another site.
    """
    headers = request.headers
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        is_ours = site in ("same-origin", "none")
    else:
        hosts = {headers.get(name, "").lower() for name in ("host", "x-forwarded-host")}
        is_ours = origin is None or urlsplit(origin.lower()).netloc in hosts - {""}
    if not is_ours:
        raise Forbidden("A page of another site may not do this.")


def labeller_of(caller: Caller, given: str | None) -> str | None:
    """The labeller: the name that the request gives, else the name of the key."""
    return given or (None if caller is ANYONE else caller.name)


Reader = Annotated[Caller, guard(READ)]
AgentReader = Annotated[Caller, guard(READ_AGENTS)]
ServerReader = Annotated[Caller, guard(READ, whole_server=True)]
EpisodeReader = Annotated[Caller, guard(READ_EPISODES)]
Actor = Annotated[Caller, guard(ACT)]
RecordingRemover = Annotated[Caller, guard(REMOVE_RECORDINGS)]
Labeller = Annotated[Caller, guard(JUDGE)]
OwnLabeller = Annotated[Caller, guard(JUDGE_OWN)]
Operator = Annotated[Caller, guard(OPERATE)]
AgentCreator = Annotated[Caller, guard(OPERATE, whole_server=True)]
Importer = Annotated[Caller, guard(IMPORT)]
Administrator = Annotated[Caller, guard(ADMINISTER, whole_server=True)]
