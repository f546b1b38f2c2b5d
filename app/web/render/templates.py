"""Render pages from templates: `render(request, "name.html", **context)`. All text is escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.api.http.auth import COOKIE, JUDGE, OPERATE, READ, READ_EPISODES
from app.api.http.dependencies import container_of
from app.service.access.keys import ANYONE, Caller
from app.service.access.sessions import SESSION_SECONDS, Session
from app.web.render.assets import assets
from app.web.render.security import HEADERS

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent.parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    enable_async=False,
)


def root_of(request: Request) -> str:
    """The path prefix that a proxy strips, without a slash at its end."""
    root: str = request.scope.get("root_path", "")
    return root.rstrip("/")


def render(request: Request, template: str, /, status: int = 200, **context: Any) -> HTMLResponse:
    """A page as a response, with security headers.

    Templates also have ``url("/path")``, ``asset("file.js")``, ``caller``,
    ``may`` and ``token``. Data for scripts go through ``|tojson`` into
    ``<script type="application/json">``.
    """
    session: Session | None = getattr(request.state, "session", None)
    caller = None if session is None else session.caller
    root = root_of(request)
    text = _ENVIRONMENT.get_template(template).render(
        url=lambda path: f"{root}{path}",
        asset=lambda file: f"{root}/static/{assets().version}/{file}",
        root=root,
        path=request.url.path.removeprefix(root),
        caller=caller,
        keys_are_on=container_of(request).keys.are_on,
        token="" if session is None else session.token,
        may=_may(caller),
        **context,
    )
    answer = HTMLResponse(text, status_code=status, headers=dict(HEADERS))
    if session is not None and getattr(request.state, "session_is_new", False):
        keep(request, answer, session)
    return answer


def keep(request: Request, answer: Any, session: Session) -> None:
    """Set the session cookie."""
    answer.set_cookie(
        COOKIE,
        session.text,
        max_age=SESSION_SECONDS,
        path=root_of(request) or "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


def _may(caller: Caller | None) -> dict[str, bool]:
    """Whether a page shows the links of these roles. The guards of the routes enforce access."""
    rights = {"read": READ, "read_episodes": READ_EPISODES, "judge": JUDGE, "operate": OPERATE}
    return {name: caller is not None and caller.may(roles) for name, roles in rights.items()} | {
        "sign_out": caller is not None and caller is not ANYONE
    }
