"""Errors as RFC 9457 problems. One table maps domain errors to HTTP."""

from __future__ import annotations

import logging
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from app.errors import (
    BudgetExceeded,
    Conflict,
    Forbidden,
    InvalidValue,
    NotFound,
    Overloaded,
    PlauditError,
    StorageUnavailable,
    TooManyAttempts,
    Unauthenticated,
)
from app.service.training.process_pool import JobFailed
from app.wire.problems import FieldError, Problem
from app.wire.validation import invalid_value, main_problem, place_of

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

PROBLEMS: dict[type[PlauditError], tuple[int, str, str]] = {
    InvalidValue: (422, "invalid_value", "Invalid value"),
    BudgetExceeded: (422, "too_large", "Over the limits of this server"),
    NotFound: (404, "not_found", "Not found"),
    Conflict: (409, "conflict", "Conflict with the current state"),
    Unauthenticated: (401, "unauthenticated", "Authentication required"),
    TooManyAttempts: (429, "too_many_attempts", "Too many attempts"),
    Forbidden: (403, "forbidden", "Not allowed"),
    Overloaded: (503, "overloaded", "Too many requests at once"),
    StorageUnavailable: (503, "storage_unavailable", "Storage unavailable"),
    JobFailed: (503, "learning_failed", "Learning failed"),
}
HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    503: {"Retry-After": "1"},
}
TITLES = {
    400: ("bad_request", "Bad request"),
    404: ("not_found", "Not found"),
    405: ("method_not_allowed", "Method not allowed"),
    408: ("too_slow", "Request timeout"),
    413: ("body_too_large", "Body too large"),
    415: ("unsupported_media_type", "Unsupported media type"),
    416: ("range_not_satisfiable", "Range not satisfiable"),
    431: ("headers_too_large", "Headers too large"),
    500: ("internal_error", "Internal error"),
}


_UNEXPECTED = "The request failed. The server's log has the reason, under this request_id."
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def problem(
    status: int,
    code: str,
    title: str,
    detail: str,
    request_id: str | None,
    errors: list[FieldError] | None = None,
) -> Problem:
    """A problem with its type filled in."""
    return Problem(
        type=f"urn:plaudit:problem:{code}",
        title=title,
        status=status,
        detail=detail,
        code=code,
        request_id=request_id,
        errors=errors or [],
    )


def problem_of(error: PlauditError, request_id: str | None) -> Problem:
    """A domain error as a problem."""
    known = next((cls for cls in type(error).__mro__ if cls in PROBLEMS), None)
    if known is None:
        return problem(500, *TITLES[500], _UNEXPECTED, request_id)
    status, code, title = PROBLEMS[known]
    errors: list[FieldError] = []
    if isinstance(error, Conflict):
        code = error.code
    if isinstance(error, InvalidValue):
        errors = [_field_error(error)]
    return problem(status, code, title, str(error), request_id, errors)


_MOST_ERRORS = 50  # listed in one problem
_MOST_DETAILS = 500  # of pydantic's errors looked at


def _field_error(error: InvalidValue) -> FieldError:
    if error.field.startswith("?") or error.field == "Idempotency-Key":
        return FieldError(parameter=error.field.removeprefix("?"), detail=error.reason)
    return FieldError(pointer=_pointer(error.field.split(".")), detail=error.reason)


def _pointer(parts: list[str]) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def _validation_problem(
    error: RequestValidationError, schema: Any, request_id: str | None
) -> Problem:
    """A request that FastAPI refused. ``schema`` is the type of its body."""
    # A body may be wrong in a million places: a bounded number of them is looked at.
    details = list(error.errors()[:_MOST_DETAILS])
    if details[0]["type"] == "json_invalid":
        words = f"The body is not valid JSON: {details[0]['ctx']['error']}."
        return problem(422, "invalid_json", "Invalid JSON", words, request_id)
    main = details[main_problem(details, {"body": error.body})]
    found: dict[tuple[str | None, str | None, str], FieldError] = {}
    for detail in [main, *details]:
        entry = _validation_entry(detail, error.body, schema)
        found.setdefault((entry.parameter, entry.pointer, entry.detail), entry)
    first, *_ = entries = list(found.values())[:_MOST_ERRORS]
    name = first.parameter or (first.pointer or "").strip("/").replace("/", ".") or "body"
    _, code, title = PROBLEMS[InvalidValue]
    return problem(422, code, title, f"{name}: {first.detail}", request_id, entries)


def _validation_entry(detail: Any, body: Any, schema: Any) -> FieldError:
    """One of pydantic's errors, by its place in the request."""
    part, *loc = detail["loc"]
    if part == "body":
        inner = detail | {"loc": tuple(loc)}
        place = list(place_of(inner, body))
        reason = invalid_value(inner, ".".join(place), schema).reason
        return FieldError(pointer=_pointer(place), detail=reason)
    name = str(loc[0]) if loc else str(part)
    return FieldError(parameter=name, detail=invalid_value(detail, name, None).reason)


def respond(answer: Problem, headers: dict[str, str] | None = None) -> Response:
    """A problem as a response."""
    return JSONResponse(
        answer.model_dump(exclude_none=True),
        status_code=answer.status,
        media_type=MEDIA_TYPE,
        headers={**HEADERS.get(answer.status, {}), **(headers or {})},
    )


def install(app: FastAPI) -> None:
    """Register exception handlers that answer every error with a problem."""

    async def domain(request: Request, error: PlauditError) -> Response:
        answer = problem_of(error, request_id_of(request))
        if answer.status >= 500:
            cause = error.__cause__
            reason = str(error) if cause is None else f"{error}: {cause}"
            log.error("request failed", extra={"code": answer.code, "reason": reason})
        return respond(answer)

    async def validation(request: Request, error: RequestValidationError) -> Response:
        field = getattr(request.scope.get("route"), "body_field", None)
        schema = None if field is None else field.field_info.annotation
        return respond(_validation_problem(error, schema, request_id_of(request)))

    async def http(request: Request, error: HTTPException) -> Response:
        code, title = TITLES.get(error.status_code, ("http_error", "Request refused"))
        detail, headers = str(error.detail), dict(error.headers or {})
        if error.status_code == 404 and detail == HTTPStatus.NOT_FOUND.phrase:
            detail = f"No route for {request.url.path!r}.{_suggestion(app, request)}"
        if error.status_code == 405:
            headers["Allow"] = _allowed(app, request)
            detail = f"This path does not take {request.method}. It takes {headers['Allow']}."
        answer = problem(error.status_code, code, title, detail, request_id_of(request))
        return respond(answer, headers)

    handlers: list[tuple[Any, Any]] = [
        (PlauditError, domain),
        (RequestValidationError, validation),
        (HTTPException, http),
    ]
    for error_type, handler in handlers:
        app.add_exception_handler(error_type, handler)


def unexpected(error: Exception, request_id: str) -> Response:
    """An unexpected error. The response hides the cause; the log has it."""
    log.exception("request failed unexpectedly", exc_info=error)
    return respond(problem(500, *TITLES[500], _UNEXPECTED, request_id))


def _suggestion(app: FastAPI, request: Request) -> str:
    """The path that was likely meant: with /v1, without a slash at the end, or spelled right."""
    path: str = request.scope["path"].rstrip("/")
    known = {part for r in app.routes for part in getattr(r, "path", "").split("/")}
    words = sorted(word for word in known if word and "{" not in word)
    spelled = "/".join(_closest(part, words) for part in path.split("/"))
    for candidate in (path, f"/v1{path}", spelled, f"/v1{spelled}"):
        scope = {**request.scope, "path": candidate}
        if candidate and any(r.matches(scope)[0] is Match.FULL for r in app.routes):
            return f" Did you mean {candidate!r}?"
    return " Paths begin with /v1; /docs lists them." if not path.startswith("/v1/") else ""


def _closest(part: str, words: list[str]) -> str:
    """The known word that a part of a path is close to."""
    found = [] if part in words else get_close_matches(part, words, n=1, cutoff=0.8)
    return found[0] if found else part


def _allowed(app: FastAPI, request: Request) -> str:
    """Every method that a path takes. Each of its routes takes one method."""
    taken = [
        method
        for method in _METHODS
        if any(r.matches({**request.scope, "method": method})[0] is Match.FULL for r in app.routes)
    ]
    if "GET" in taken and "HEAD" not in taken:
        taken.insert(1, "HEAD")  # the gate answers it
    return ", ".join(taken)


def request_id_of(request: Request) -> str | None:
    """The id of a request, as in `X-Request-ID` and in the log."""
    found: str | None = request.scope.get("request_id")
    return found
