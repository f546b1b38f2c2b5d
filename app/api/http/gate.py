"""The outermost ASGI middleware: request ids, limits on bodies, HEAD, host names, and counting."""

from __future__ import annotations

import asyncio
import re
import secrets
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.lines import is_lines
from app.api.http.problems import problem, respond, unexpected
from app.logs import request_id
from app.metrics import Metrics
from app.wire.problems import Problem

_ID = re.compile(rb"^[A-Za-z0-9._:-]{1,128}$")
_NO_LENGTH = -1
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")
_CLIENT_GONE = 499  # only in the metrics; nginx uses the same code


class Gate:
    """Every request passes it first. It costs a few microseconds and streams bodies unchanged."""

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
        self._prefix, self._numbers = secrets.token_hex(4).encode(), count(1)  # of request ids
        self._counters: dict[tuple[str, str, int], Any] = {}
        self._timers: dict[str, Any] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request to the application, and its response back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            await self._head(scope, send)
            return
        began = time.perf_counter()
        length, host, given = _NO_LENGTH, b"", b""
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = content_length(value)
            elif name == b"x-request-id":
                given = value
            elif name == b"host":
                host = value
        name_ = given if _ID.match(given) else b"%s-%x" % (self._prefix, next(self._numbers))
        scope["request_id"] = name_.decode()
        request_id.set(scope["request_id"])
        status, started = 500, False

        async def answer(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                message["headers"] = [*message["headers"], _NO_SNIFFING, (b"x-request-id", name_)]
            await send(message)

        try:
            if not self._host_is_allowed(host.decode("latin-1")):
                await respond(_wrong_host(scope["request_id"]))(scope, receive, answer)
            elif 0 <= length <= self._body_bytes:
                await self._app(scope, receive, answer)
            else:
                await self._app(scope, self._bounded(scope, receive, length), answer)
        except ClientDisconnect:
            status = _CLIENT_GONE  # the client disconnected before its body was complete
        except Exception as error:
            if started:
                raise
            await unexpected(error, scope["request_id"])(scope, receive, answer)
        finally:
            self._count(scope, status, time.perf_counter() - began)
            request_id.set(None)

    async def _head(self, scope: Scope, send: Send) -> None:
        """Answer HEAD like GET, without the body; a stream that would not end is cut off."""
        started = asyncio.Event()

        async def receive() -> Message:
            await started.wait()
            return {"type": "http.disconnect"}

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})
                started.set()

        await self({**scope, "method": "GET"}, receive, send_head)

    def _limit(self, scope: Scope) -> tuple[int, str]:
        """The largest body that a request may have, and the setting that limits it."""
        if scope["method"] == "PUT" and scope["path"].endswith("/recording"):
            return self._recording_bytes, "PLAUDIT_RECORDING_BYTES"
        if scope["method"] == "POST" and scope["path"].endswith("/trajectories"):
            kind = Headers(scope=scope).get("content-type", "")
            if is_lines(kind):  # read line by line, so that its length needs no limit
                return sys.maxsize, ""
        return self._body_bytes, "PLAUDIT_BODY_BYTES"

    def _bounded(self, scope: Scope, receive: Receive, length: int) -> Receive:
        """Refuse a body that is too large when the application asks for it.

        The key was checked before, so that strangers learn nothing about limits. A body without a
        length is cut off at the limit.
        """
        received, (largest, setting) = max(0, length), self._limit(scope)

        async def bounded() -> Message:
            nonlocal received
            if received > largest:
                raise HTTPException(413, f"a body may have {largest} bytes ({setting})")
            message = await receive()
            if length == _NO_LENGTH:
                received += len(message.get("body", b""))
                if received > largest:
                    return await bounded()
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


def _wrong_host(name: str) -> Problem:
    detail = (
        "without keys this server accepts only the host names of its own machine; "
        "set PLAUDIT_ADMIN_KEY to serve other names"
    )
    return problem(403, "host_not_allowed", "Not for this host name", detail, name)


def content_length(value: bytes) -> int:
    """The value of Content-Length, which the parser has checked to be digits.

    Leading zeros are allowed, and Python refuses to read thousands of digits.
    """
    return int(value.strip().lstrip(b"0")[:20] or b"0")
