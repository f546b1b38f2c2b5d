"""Problems that the server answers with (RFC 9457): one exception class for each `code`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from plaudit.errors import PlauditError


@dataclass(frozen=True)
class FieldError:
    """One invalid field of a request: its place, and what was expected."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None


class APIError(PlauditError):
    """A problem that the server answered with (RFC 9457).

    ``code`` is for programs, ``detail`` for people, ``errors`` points at each bad field, and
    ``request_id`` finds the request in the server's log.
    """

    statuses: ClassVar[dict[int, type[APIError]]] = {}
    codes: ClassVar[dict[str, type[APIError]]] = {}
    advice: ClassVar[str] = ""

    def __init_subclass__(cls, status: int = 0, code: str = "", advice: str = "") -> None:
        super().__init_subclass__()
        cls.advice = advice or cls.advice
        if status:
            APIError.statuses[status] = cls
        if code:
            APIError.codes[code] = cls

    def __init__(
        self,
        detail: str,
        *,
        status: int,
        code: str,
        title: str = "",
        request_id: str | None = None,
        errors: tuple[FieldError, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.code = code
        self.title = title
        self.request_id = request_id
        self.errors = errors
        self.retry_after = retry_after

    @property
    def pointers(self) -> tuple[str, ...]:
        """JSON pointers to the bad fields, or the names of bad parameters."""
        return tuple(error.pointer or error.parameter or "" for error in self.errors)

    def __str__(self) -> str:
        more = "".join(f"\n  {_place(error)}: {error.detail}" for error in self.errors[:10])
        advice = f" {self.advice}" if self.advice else ""
        origin = f"{self.status} {self.code}, request {self.request_id}"
        return f"{self.detail} ({origin}).{advice}{more if len(self.errors) > 1 else ''}"

    def __reduce__(self) -> tuple[Any, ...]:
        named = {name: value for name, value in vars(self).items() if name != "detail"}
        return (_restored, (type(self), self.detail, named))


def _place(error: FieldError) -> str:
    return error.pointer or error.parameter or "body"


def _restored(kind: type[APIError], detail: str, named: dict[str, Any]) -> APIError:
    return kind(detail, **named)


# By status: what a code that this client does not know falls back to.


class BadRequest(APIError, status=400, code="bad_request"):
    """The server cannot read the request."""


class Unauthenticated(
    APIError,
    status=401,
    code="unauthenticated",
    advice="Give a key with PLAUDIT_KEY or Client(key=…); `plaudit keys create` makes one.",
):
    """No key, or one that the server does not know."""


class Forbidden(
    APIError,
    status=403,
    code="forbidden",
    advice="Use a key with a role that allows it; an admin makes one with `plaudit keys create`.",
):
    """The role of the key does not allow this."""


class NotFound(
    APIError,
    status=404,
    code="not_found",
    advice="Check the id. Deleting an agent also deletes its episodes.",
):
    """No such agent, episode, key or path."""


class MethodNotAllowed(APIError, status=405, code="method_not_allowed"):
    """The path does not take this method."""


class TooSlow(APIError, status=408, code="too_slow"):
    """The request did not arrive in time."""


class Conflict(APIError, status=409, code="conflict"):
    """The current state of the agent or episode does not allow the request."""


class BodyTooLarge(
    APIError, status=413, code="body_too_large", advice="Send less at once, in several calls."
):
    """The body is larger than the server takes (PLAUDIT_BODY_BYTES)."""


class UnsupportedMediaType(APIError, status=415, code="unsupported_media_type"):
    """The server takes application/json here."""


class RangeNotSatisfiable(APIError, status=416, code="range_not_satisfiable"):
    """A part of a recording that it does not have."""


class Unprocessable(APIError, status=422):
    """A value cannot be used; `errors` says which, and what was expected."""


class RateLimited(APIError, status=429):
    """Too many requests; `retry_after` says how many seconds to wait."""


class HeadersTooLarge(APIError, status=431, code="headers_too_large"):
    """The headers of the request are larger than the server takes."""


class ServerError(APIError, status=500):
    """The server failed; its log has the reason under `request_id`."""


class Unavailable(ServerError, status=503):
    """The server cannot do it now. Nothing was stored; the same request may succeed later."""


# By code: one class for each problem of the interface.


class HostNotAllowed(Forbidden, code="host_not_allowed"):
    """Without keys, a server answers to its own machine's names only."""


class TooManyDemos(Conflict, code="too_many_demos", advice="Delete the agent of one of them."):
    """As many demos play as the server allows."""


class AgentPaused(Conflict, code="agent_paused", advice="Resume it: agent.change(paused=False)."):
    """A paused agent starts no episodes."""


class EpisodeRunning(Conflict, code="episode_running", advice="Finish the episode first."):
    """A label for an episode that is not over."""


class EpisodeOver(Conflict, code="episode_over"):
    """A step, an end or an abandonment for an episode that is over."""


class EpisodeAbandoned(Conflict, code="episode_abandoned"):
    """A label for an episode that was abandoned."""


class AlreadyFinished(Conflict, code="already_finished"):
    """The state that the episode ended in is known."""


class AlreadyLabelled(
    Conflict, code="already_labelled", advice="Replace it: client.replace_label(episode, label)."
):
    """The episode has another label, or all the labels that it wants."""


class NotLabelled(Conflict, code="not_labelled"):
    """The episode has no label to withdraw."""


class StepConflict(Conflict, code="step_conflict"):
    """A step that was answered for another state."""


class StepOutOfOrder(Conflict, code="step_out_of_order"):
    """Not the next step of the episode."""


class IdempotencyKeyReused(Conflict, code="idempotency_key_reused"):
    """The Idempotency-Key was used with another body."""


class CreatedAndDeleted(Conflict, code="created_and_deleted"):
    """What the Idempotency-Key created was deleted since."""


class Leased(Conflict, code="leased"):
    """Another labeller has this episode at the desk."""


class TooManyAttempts(RateLimited, code="too_many_attempts"):
    """Too many failed attempts to sign in; `retry_after` says how many seconds to wait."""


class InvalidValue(Unprocessable, code="invalid_value"):
    """A value cannot be used; `errors` says which."""


class InvalidJson(Unprocessable, code="invalid_json"):
    """The body is not JSON."""


class TooLarge(Unprocessable, code="too_large"):
    """More than this server serves; the detail says which number to lower."""


class InternalError(ServerError, code="internal_error", advice="This is a bug of the server."):
    """An unexpected error of the server; its log has the reason under `request_id`."""


class Overloaded(Unavailable, code="overloaded"):
    """Too much at once."""


class StorageUnavailable(Unavailable, code="storage_unavailable"):
    """The database could not be written."""


class LearningFailed(Unavailable, code="learning_failed"):
    """Learning failed; the last good policy stays in force."""


def problem_error(problem: object, headers: Mapping[str, str] | None = None) -> APIError:
    """The exception of a problem document; unknown codes fall back to the class of the status."""
    body = problem if isinstance(problem, dict) else {}
    status, code = int(body.get("status", 500)), str(body.get("code", ""))
    errors = tuple(
        FieldError(str(error.get("detail", "")), error.get("pointer"), error.get("parameter"))
        for error in body.get("errors", ())
    )
    title = str(body.get("title", ""))
    return _class_of(status, code)(
        str(body.get("detail") or title or f"the server answered {status}"),
        status=status,
        code=code,
        title=title,
        request_id=body.get("request_id"),
        errors=errors,
        retry_after=read_retry_after((headers or {}).get("retry-after")),
    )


def _class_of(status: int, code: str) -> type[APIError]:
    if code in APIError.codes:
        return APIError.codes[code]
    if status in APIError.statuses:
        return APIError.statuses[status]
    return ServerError if status >= 500 else APIError


def read_retry_after(value: str | None) -> float | None:
    """The seconds of a Retry-After header, which is a number or a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return _seconds_until(value)


def _seconds_until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime  # rarely needed, and slow to import

    try:
        seconds = parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError:
        return None
    return max(0.0, seconds)
