"""Errors as clients see them: RFC 9457 problems. One table maps domain errors to HTTP."""

from __future__ import annotations

import logging
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
    Unauthenticated,
)
from app.service.training.process_pool import JobFailed
from app.wire.problems import FieldError, Problem
from app.wire.validation import expectation, place_of

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

PROBLEMS: dict[type[PlauditError], tuple[int, str, str]] = {
    InvalidValue: (422, "invalid_value", "A value cannot be used"),
    BudgetExceeded: (422, "too_large", "More than this server serves"),
    NotFound: (404, "not_found", "There is no such thing"),
    Conflict: (409, "conflict", "This does not fit the present state"),
    Unauthenticated: (401, "unauthenticated", "A key is needed"),
    Forbidden: (403, "forbidden", "The key does not allow this"),
    Overloaded: (503, "overloaded", "Too much at once"),
    StorageUnavailable: (503, "storage_unavailable", "Nothing was stored"),
    JobFailed: (503, "learning_failed", "Learning failed"),
}
HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    503: {"Retry-After": "1"},
}
TITLES = {
    400: ("bad_request", "The request cannot be read"),
    404: ("not_found", "There is no such thing"),
    405: ("method_not_allowed", "This path does not take this method"),
    413: ("body_too_large", "The body is too large"),
    415: ("unsupported_media_type", "Send application/json"),
    416: ("range_not_satisfiable", "There are no such bytes"),
    500: ("internal_error", "Something went wrong here"),
}


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
    """The problem that a domain error is."""
    known = next((cls for cls in type(error).__mro__ if cls in PROBLEMS), None)
    if known is None:
        return problem(500, *TITLES[500], "the request could not be carried out", request_id)
    status, code, title = PROBLEMS[known]
    errors: list[FieldError] = []
    if isinstance(error, Conflict):
        code = error.code
    if isinstance(error, InvalidValue):
        errors = [_field_error(error)]
    return problem(status, code, title, str(error), request_id, errors)


def _field_error(error: InvalidValue) -> FieldError:
    detail = f"expected {error.expected}"
    if error.field.startswith("?") or error.field == "Idempotency-Key":
        return FieldError(parameter=error.field.removeprefix("?"), detail=detail)
    return FieldError(pointer=_pointer(error.field.split(".")), detail=detail)


def _pointer(parts: list[str]) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def _validation_problem(error: RequestValidationError, request_id: str | None) -> Problem:
    found: list[FieldError] = []
    for one in error.errors():
        where, *loc = one["loc"]
        if one["type"] == "json_invalid":
            detail = f"the body is not JSON: {one['ctx']['error']}"
            return problem(422, "invalid_json", "The body is not JSON", detail, request_id)
        detail = f"expected {expectation(one)}"
        if where == "body":
            place = place_of(one | {"loc": tuple(loc)}, error.body)
            entry = FieldError(pointer=_pointer(list(place)), detail=detail)
        else:
            entry = FieldError(parameter=str(loc[0]) if loc else str(where), detail=detail)
        if entry not in found:
            found.append(entry)
    first = found[0]
    name = first.parameter or (first.pointer or "").strip("/").replace("/", ".") or "body"
    _, code, title = PROBLEMS[InvalidValue]
    return problem(422, code, title, f"{name}: {first.detail}", request_id, found[:50])


def respond(answer: Problem, headers: dict[str, str] | None = None) -> Response:
    """A problem as a response."""
    return JSONResponse(
        answer.model_dump(exclude_none=True),
        status_code=answer.status,
        media_type=MEDIA_TYPE,
        headers={**HEADERS.get(answer.status, {}), **(headers or {})},
    )


def install(app: FastAPI) -> None:
    """Answer every error of an application with a problem."""

    async def domain(request: Request, error: PlauditError) -> Response:
        answer = problem_of(error, request_id_of(request))
        if answer.status >= 500:
            cause = error.__cause__
            reason = str(error) if cause is None else f"{error}: {cause}"
            log.error("request failed", extra={"code": answer.code, "reason": reason})
        return respond(answer)

    async def validation(request: Request, error: RequestValidationError) -> Response:
        return respond(_validation_problem(error, request_id_of(request)))

    async def http(request: Request, error: HTTPException) -> Response:
        code, title = TITLES.get(error.status_code, ("http_error", "The request was refused"))
        answer = problem(error.status_code, code, title, str(error.detail), request_id_of(request))
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = _allowed(app, request)
        return respond(answer, headers)

    handlers: list[tuple[Any, Any]] = [
        (PlauditError, domain),
        (RequestValidationError, validation),
        (HTTPException, http),
    ]
    for error_type, handler in handlers:
        app.add_exception_handler(error_type, handler)


def unexpected(error: Exception, request_id: str) -> Response:
    """What nobody foresaw: the reason is for the log alone."""
    log.exception("request failed unexpectedly", exc_info=error)
    detail = "the request could not be carried out; the log has the reason"
    return respond(problem(500, *TITLES[500], detail, request_id))


def _allowed(app: FastAPI, request: Request) -> str:
    """Every method that a path takes: its routes have one each, and only one of them answered."""
    taken = [
        method
        for method in _METHODS
        if any(r.matches({**request.scope, "method": method})[0] is Match.FULL for r in app.routes)
    ]
    return ", ".join(taken)


def request_id_of(request: Request) -> str | None:
    """The id that this request goes by."""
    found: str | None = request.scope.get("request_id")
    return found
