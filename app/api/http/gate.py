"""What every request passes first: its id, the limit of its body, and being counted."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.problems import problem, respond, unexpected
from app.logs import request_id
from app.metrics import Metrics
from app.wire.problems import Problem

_ID = re.compile(rb"^[A-Za-z0-9._:-]{1,128}$")


class Gate:
    """Plain ASGI: it costs a few microseconds, and streams pass through it unchanged."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        body_bytes: int,
        host_is_allowed: Callable[[str], bool],
        recording_bytes: int = 0,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._body_bytes = body_bytes
        self._recording_bytes = recording_bytes
        self._host_is_allowed = host_is_allowed
        self._name, self._numbers = secrets.token_hex(4).encode(), count(1)  # of this server's own
        self._counters: dict[tuple[str, str, int], Any] = {}
        self._timers: dict[str, Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        length, host, given = b"", b"", b""
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = value
            elif name == b"x-request-id":
                given = value
            elif name == b"host":
                host = value
        own = given if given and _ID.match(given) else b"%s-%x" % (self._name, next(self._numbers))
        scope["request_id"] = own.decode()
        request_id.set(scope["request_id"])
        status, started = 500, False

        async def answer(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                message["headers"] = [*message["headers"], (b"x-request-id", own)]
            await send(message)

        try:
            refused = self._refused(scope, length, host)
            if refused is not None:
                await respond(refused)(scope, receive, answer)
            elif length:
                await self._app(scope, receive, answer)
            else:
                await self._app(scope, self._bounded(scope, receive), answer)
        except Exception as error:
            if started:
                raise
            await unexpected(error, scope["request_id"])(scope, receive, answer)
        finally:
            self._count(scope, status, time.perf_counter() - began)
            request_id.set(None)

    def _refused(self, scope: Scope, length: bytes, host: bytes) -> Problem | None:
        own = scope["request_id"]
        if length and (size := content_length(length)) > self._body_bytes:
            largest, name = self._limit(scope)
            if size > largest:
                detail = _too_large(largest, name)
                return problem(413, "body_too_large", "The body is too large", detail, own)
        if not self._host_is_allowed(host.decode("latin-1")):
            detail = (
                "without keys this server answers to the names of this machine only; "
                "set PLAUDIT_ADMIN_KEY to serve other names"
            )
            return problem(403, "host_not_allowed", "Not for this host name", detail, own)
        return None

    def _limit(self, scope: Scope) -> tuple[int, str]:
        """How long a body may be, and the setting that says so."""
        if scope["method"] == "PUT" and scope["path"].endswith("/recording"):
            return self._recording_bytes, "PLAUDIT_RECORDING_BYTES"
        return self._body_bytes, "PLAUDIT_BODY_BYTES"

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """A body of unknown length, cut off where it gets too long."""
        received, (largest, name) = 0, self._limit(scope)

        async def bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > largest:
                raise HTTPException(413, _too_large(largest, name))
            return message

        return bounded

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        key = scope["method"], route, status
        counter = self._counters.get(key)
        if counter is None:
            counter = self._metrics.requests.labels(scope["method"], route, str(status))
            self._counters[key] = counter
            self._timers.setdefault(route, self._metrics.request_seconds.labels(route))
        counter.inc()
        self._timers[route].observe(seconds)


def content_length(value: bytes) -> int:
    """The value of Content-Length, which the parser has checked to be digits.

    Python refuses to read very many digits, and leading zeros are allowed.
    """
    digits = value.strip().lstrip(b"0")
    return int(digits[:20] or b"0")


def _too_large(largest: int, name: str) -> str:
    return f"a body may have {largest} bytes ({name})"
