"""Sign in and out, and the dependency that protects pages."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import parse_qs, quote, urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.routing import APIRoute

from app.api.http.attempts import Attempts
from app.api.http.auth import COOKIE, READ, check_visible, refuse_other_sites
from app.api.http.dependencies import Keys, Sessions, container_of
from app.api.http.problems import problem_of, request_id_of
from app.errors import (
    Forbidden,
    InvalidValue,
    PlauditError,
    TooManyAttempts,
    Unauthenticated,
)
from app.service.access.keys import ANYONE, Caller, Role, check
from app.service.access.sessions import Session
from app.web.render.templates import keep, render, root_of

_LARGEST_FORM = 100_000


class PageRoute(APIRoute):
    """A page route. Errors render as HTML; anonymous visitors are redirected to sign in."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with errors rendered as pages."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except Unauthenticated:
                return to_sign_in(request)
            except PlauditError as error:
                problem = problem_of(error, request_id_of(request))
                if problem.status >= 500:
                    raise
                return render(request, "error.html", problem.status, problem=problem)

        return handled


def to_sign_in(request: Request) -> RedirectResponse:
    """Redirect to the sign-in page, which leads back to this one."""
    path = request.url.path.removeprefix(root_of(request))
    query = f"?{request.url.query}" if request.url.query else ""
    back = f"?next={quote(path + query, safe='/')}" if request.method == "GET" else ""
    return RedirectResponse(f"{root_of(request)}/signin{back}", status_code=303)


async def session_of(request: Request) -> Session | None:
    """The session of the browser. Where keys are off, a new visitor gets one."""
    container = container_of(request)
    session = await container.sessions.read(request.cookies.get(COOKIE))
    if session is None and not container.keys.are_on:
        session = await container.sessions.open(ANYONE)
        request.state.session_is_new = True
    request.state.session = session
    return session


def page_guard(allowed: frozenset[Role]) -> Any:
    """A dependency that returns the caller of a page, or refuses a role that is not allowed."""

    async def caller(request: Request) -> Caller:
        session = await session_of(request)
        if session is None:
            raise Unauthenticated("Sign in first.")
        check(session.caller, allowed)
        check_visible(session.caller, request)
        return session.caller

    caller.guards = allowed  # type: ignore[attr-defined]  # the page on security lists them
    return Depends(caller)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form. With a session, the form must carry its token."""
    body = await request.body()
    if len(body) > _LARGEST_FORM:
        raise InvalidValue("form", f"at most {_LARGEST_FORM} bytes")
    try:
        fields = {name: values[-1] for name, values in parse_qs(body.decode()).items()}
    except ValueError as error:
        raise InvalidValue("form", "UTF-8 and not too many fields") from error
    session: Session | None = getattr(request.state, "session", None)
    if session is not None:
        given = fields.get("token", "").encode()
        if not hmac.compare_digest(given, session.token.encode()):
            raise Forbidden("This form is outdated or came from another site. Load the page again.")
    return fields


router = APIRouter(include_in_schema=False, route_class=PageRoute)


@router.get("/signin")
async def sign_in_page(
    request: Request, next_: Annotated[str, Query(alias="next", max_length=2000)] = "/"
) -> Response:
    """The form. Signed-in users are redirected."""
    session = await session_of(request)
    if session is not None:
        return RedirectResponse(_onward(request, session.caller, next_), status_code=303)
    return render(request, "signin.html", next=_safe(next_), wrong="")


@router.post("/signin")
async def sign_in(request: Request, keys: Keys, sessions: Sessions) -> Response:
    """Open a session with a key.

    There is no session and no token yet, so the Origin header decides whether the form is ours.
    """
    refuse_other_sites(request)
    fields = await form_of(request)
    onward, key = _safe(fields.get("next", "/")), fields.get("key", "").strip()
    attempts: Attempts = request.app.state.sign_in_attempts
    address = request.client.host if request.client else ""
    try:
        attempts.check(address, key)
        caller = await keys.caller(f"Bearer {key}")
    except TooManyAttempts as error:
        answer = render(request, "signin.html", 429, next=onward, wrong=str(error))
        answer.headers["Retry-After"] = str(error.seconds)
        return answer
    except Unauthenticated:
        attempts.failed(address, key)
        wrong = "This key is unknown or was revoked."
        return render(request, "signin.html", 401, next=onward, wrong=wrong)
    session = await sessions.open(caller, request.headers.get("user-agent", ""), address)
    redirect = RedirectResponse(_onward(request, caller, onward), status_code=303)
    keep(request, redirect, session)
    return redirect


@router.post("/signout")
async def sign_out(request: Request, sessions: Sessions) -> Response:
    """End the session."""
    session = await session_of(request)
    if session is not None:
        await form_of(request)
        if session.caller.session is not None:
            await sessions.end(session.caller, session.caller.session)
    answer = RedirectResponse(f"{root_of(request)}/signin", status_code=303)
    answer.delete_cookie(COOKIE, path=root_of(request) or "/", httponly=True, samesite="lax")
    return answer


def _safe(path: str) -> str:
    """A path of this server; anything else becomes the start page."""
    plain = path.startswith("/") and not path.startswith("//")
    return path if plain and "\\" not in path and path.isprintable() else "/"


def _onward(request: Request, caller: Caller, path: str) -> str:
    path = _safe(path)
    if path == "/" and not caller.may(READ):
        path = "/label"
    return root_of(request) + path


def link(request: Request, path: str, **query: str) -> str:
    """An address of this server."""
    return f"{root_of(request)}{path}" + (f"?{urlencode(query)}" if query else "")
