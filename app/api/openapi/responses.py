"""The responses that routes declare for OpenAPI: problems, and the Location of what was created."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from app.api.http.problems import HEADERS, MEDIA_TYPE, PROBLEMS, TITLES, problem
from app.errors import (
    Conflict,
    Forbidden,
    InvalidValue,
    NotFound,
    StorageUnavailable,
    Unauthenticated,
)
from app.wire.problems import FieldError


def location(request: Request, path: str) -> str:
    """The address of something that was created, with the prefix that a proxy strips."""
    return f"{request.scope.get('root_path', '')}{path}"


def created(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The responses of a route that creates something."""
    header = {"description": "where it is", "schema": {"type": "string"}}
    return {201: {"headers": {"Location": header}}, **declared(*statuses)}


def declared(*statuses: int, guarded: bool = True) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may answer with; 401 only if the route is guarded.

    A route that takes a body declares 413, and then answers 415 to other media types too.
    """
    more = {403, *((401,) if guarded else ()), *((415,) if 413 in statuses else ())}
    return {status: _declaration(status) for status in sorted({*more, *statuses})}


_EXAMPLES = {
    400: (*TITLES[400], "There was an error parsing the body"),
    401: (*PROBLEMS[Unauthenticated][1:], "This server needs a key. Send Authorization: Bearer …"),
    403: (
        *PROBLEMS[Forbidden][1:],
        "The role viewer may not do this. It takes operator.",
    ),
    404: (*PROBLEMS[NotFound][1:], "No agent with id 'agt_0123456789'."),
    409: ("episode_over", PROBLEMS[Conflict][2], "The episode is over: it is awaiting_label."),
    413: (*TITLES[413], "A body may have at most 8000000 bytes (PLAUDIT_BODY_BYTES)."),
    415: (*TITLES[415], "Content-Type: expected application/json, got 'text/plain'."),
    416: (*TITLES[416], "The recording has 48213 bytes."),
    422: (*PROBLEMS[InvalidValue][1:], "horizon: expected a number greater than or equal to 1"),
    503: (*PROBLEMS[StorageUnavailable][1:], "The database cannot be written."),
}
_MEANINGS = {
    400: "The body could not be read",
    401: "No key, or an unknown or revoked one",
    403: "The key's role does not allow this, or this host name is not served",
    404: "Not found",
    409: "The current state does not allow it",
    413: "The body is too large",
    415: "The body is not application/json",
    416: "The range lies outside the recording",
    422: "Invalid value",
    503: "Try again in a moment",
}


def _declaration(status: int) -> dict[str, Any]:
    code, title, detail = _EXAMPLES[status]
    errors = []
    if status == 422:
        errors = [
            FieldError(pointer="/horizon", detail="expected a number greater than or equal to 1")
        ]
    shown = problem(status, code, title, detail, "0f8b6d1c2a3e4f50", errors)
    content = {
        "schema": {"$ref": "#/components/schemas/Problem"},
        "example": shown.model_dump(exclude_none=True),
    }
    headers = {
        name: {"description": _PURPOSES[name], "schema": {"type": "string"}}
        for name in HEADERS.get(status, {})
    }
    more = {"headers": headers} if headers else {}
    return {"description": _MEANINGS[status], "content": {MEDIA_TYPE: content}, **more}


_PURPOSES = {
    "WWW-Authenticate": "how to authenticate: Bearer",
    "Retry-After": "seconds to wait before trying again",
}
