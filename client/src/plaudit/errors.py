"""Exceptions of this client; those that the server answers with are in `problems`.

PlauditError
├── InvalidArgument          a value that cannot be sent; nothing was sent (also a ValueError)
│   ├── UnknownAgent         no agent has this name, and nothing says what to create
│   └── UnsupportedSpace     a Gymnasium space that an agent cannot use as it is
├── ConnectionFailed         no answer: the server or the network is down, or the address is wrong
│   └── TimedOut             the server took the request and did not answer in time
├── UnexpectedAnswer         an answer that is not Plaudit's, for example a proxy's page
├── NoPolicy                 away from the server, with neither a policy nor a fallback action
├── SpoolFull                the folder of an offline agent cannot take another episode
├── LabelFailed              a label function raised; the episode waits for its label
└── APIError                 a problem that the server answered with (RFC 9457)
    ├── by status            BadRequest, Unauthenticated, Forbidden, NotFound, Conflict, …
    └── by code              one class for each, below the class of its status
"""

from __future__ import annotations

from collections.abc import Mapping


class PlauditError(Exception):
    """Base of every exception that this client raises on purpose."""


class InvalidArgument(PlauditError, ValueError):
    """A value that cannot be sent to the server. Nothing was sent."""


class UnsupportedSpace(InvalidArgument):
    """A Gymnasium space that an agent cannot use as it is; the message says what to pass."""


class UnknownAgent(InvalidArgument):
    """No agent has this name, and nothing says what to create."""


class ConnectionFailed(PlauditError):
    """No answer from the server: it is down, its address is wrong, or the network is down."""

    def __init__(self, url: str, reason: str, tries: int, seconds: float, request_id: str) -> None:
        super().__init__(url, reason, tries, seconds, request_id)
        self.url = url
        self.reason = reason
        self.tries = tries
        self.seconds = seconds
        self.request_id = request_id

    def __str__(self) -> str:
        tried = (
            f"tried {self.tries} times in {self.seconds:.0f} s" if self.tries > 1 else "tried once"
        )
        return (
            f"No answer from {self.url}: {self.reason} ({tried}, request {self.request_id}). "
            "Start a server with `plaudit serve`, or say where it is with PLAUDIT_URL or "
            "Client(url=…)."
        )


class TimedOut(ConnectionFailed):
    """The server did not answer in time. `Client(timeout=…)` says how long to wait."""

    def __str__(self) -> str:
        return (
            f"{self.url} did not answer in time: {self.reason} (sent {self.tries} times, request "
            f"{self.request_id}). Wait longer with Client(timeout=…, patience=…)."
        )


class UnexpectedAnswer(PlauditError):
    """An answer that is not Plaudit's: a proxy's page, a redirect, or another server."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.request_id = headers.get("x-request-id")
        self._message = self._describe(headers, content)

    @classmethod
    def of_body(cls, reason: str) -> UnexpectedAnswer:
        """An answer whose body is JSON, but not what the interface promises."""
        error = cls(200, {}, b"")
        error._message = f"The server's answer cannot be read: {reason}. Is it a Plaudit server?"
        return error

    def _describe(self, headers: Mapping[str, str], content: bytes) -> str:
        if 300 <= self.status < 400:
            where = headers.get("location", "another address")
            return f"The server redirects to {where}: use that address (PLAUDIT_URL)."
        kind = headers.get("content-type", "no content type")
        start = content[:200].decode("utf-8", errors="replace").strip()
        return (
            f"The server answered {self.status} with {kind}, which is not what Plaudit answers. "
            f"Check PLAUDIT_URL and any proxy before it. The answer begins: {start!r}"
        )

    def __str__(self) -> str:
        return self._message


class LabelFailed(PlauditError):
    """A label function raised. The episode is stored, and waits for its label."""

    def __init__(self, episode: str, cause: BaseException) -> None:
        super().__init__(episode, cause)
        self.episode = episode
        self.cause = cause

    def __str__(self) -> str:
        return (
            f"The label function raised {type(self.cause).__name__}: {self.cause}. Episode "
            f"{self.episode} is stored and waits for its label: correct the function and call "
            f"train again, and label this one with client.give_label({self.episode!r}, 0 or 1)."
        )


class NoPolicy(PlauditError):
    """An offline agent has neither a policy nor a fallback action."""


class SpoolFull(PlauditError):
    """The folder of an offline agent cannot take more. Nothing that it holds was lost."""
