"""Error pages: browsers get an HTML page instead of a problem document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from app.api.http.problems import MEDIA_TYPE
from app.errors import PlauditError
from app.web.pages.sign_in import session_of
from app.web.render.templates import render
from app.wire.problems import Problem

Handler = Callable[[Request, Any], Awaitable[Response]]

_PROGRAMS = ("/v1/", "/label/", "/static/")  # paths that only programs and scripts ask for


def install(app: FastAPI) -> None:
    """Wrap the error handlers, so that browsers get a page. Call this after they are registered."""
    for error_type in (PlauditError, RequestValidationError, HTTPException):
        handler: Any = app.exception_handlers[error_type]
        app.add_exception_handler(error_type, _with_page(handler))


def _with_page(handle: Handler) -> Any:
    async def handled(request: Request, error: Any) -> Response:
        answer = await handle(request, error)
        return await _page(request, answer) if _is_browser(request) else answer

    return handled


def _is_browser(request: Request) -> bool:
    """Whether the client is a browser that opened a page: it accepts HTML."""
    path = request.url.path.removeprefix(request.scope.get("root_path", ""))
    wants_html = "text/html" in request.headers.get("accept", "")
    return request.method == "GET" and wants_html and not path.startswith(_PROGRAMS)


async def _page(request: Request, answer: Response) -> Response:
    """The problem of a response as a page; other responses stay as they are."""
    if not answer.headers.get("content-type", "").startswith(MEDIA_TYPE):
        return answer
    try:
        problem = Problem.model_validate_json(bytes(answer.body))
    except ValidationError:
        return answer
    await session_of(request)  # the navigation depends on who is signed in
    return render(request, "error.html", problem.status, problem=problem)
