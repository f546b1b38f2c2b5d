"""Who may call what: a dependency of every route that checks the caller's role."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from app.hosting.host import Host
from app.hosting.keys import Caller, Role, check

READ = frozenset({Role.viewer})
READ_EPISODES = frozenset({Role.viewer, Role.labeller})
ACT = frozenset({Role.actor})
JUDGE = frozenset({Role.labeller})
OPERATE = frozenset({Role.operator})
ADMINISTER = frozenset({Role.admin})


def host_of(request: Request) -> Host:
    """The host that serves a request."""
    host: Host = request.app.state.host
    return host


def guard(allowed: frozenset[Role]) -> Any:
    """The dependency that lets only some roles through."""

    async def caller(request: Request) -> Caller:
        host: Host = request.app.state.host
        found = await host.keys.caller(request.headers.get("authorization"))
        check(found, allowed)
        return found

    return Depends(caller)


TheHost = Annotated[Host, Depends(host_of)]
