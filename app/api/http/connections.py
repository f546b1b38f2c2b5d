"""Limits on connections: how many, how large the headers are, how slow a client may be.

Uvicorn has no such limits for its fast parser. They are enforced here, below ASGI, because no
application code runs before the headers of a request are complete.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from app.api.http.problems import MEDIA_TYPE, PROBLEMS, TITLES, problem
from app.errors import Overloaded
from app.metrics import Metrics
from app.wire.problems import Problem

SWEEP_SECONDS = 1.0
_SLOWEST = 1000.0  # bytes of a body a second, on average


@dataclass(frozen=True)
class ConnectionLimits:
    """What one connection may cost, and how many there may be."""

    header_bytes: int
    header_seconds: float
    body_seconds: float
    idle_seconds: float
    connections: int
    connections_per_address: int


class _State(Enum):
    """What a connection waits for."""

    HEADERS = "headers"
    BODY = "body"
    RESPONSE = "response"
    REQUEST = "request"  # kept alive, with nothing to do


@dataclass
class _Wait:
    """How long a connection has waited for its client."""

    state: _State = _State.HEADERS
    seconds: float = 0.0
    body_bytes: int = 0
    unsent: int = 0  # bytes of a response in the buffer, and
    stuck_seconds: float = 0.0  # for how long none of them was taken


class RefusedRequest(Exception):
    """Stops the parser; the connection answers with a problem and closes."""


@dataclass
class Connections:
    """The open connections of one server."""

    limits: ConnectionLimits
    metrics: Metrics
    open: set[LimitedProtocol] = field(default_factory=set)
    by_address: Counter[str] = field(default_factory=Counter)

    def protocol(self) -> type[LimitedProtocol]:
        """The class that uvicorn makes for each connection."""
        connections = self

        class Protocol(LimitedProtocol):
            def __init__(self, **options: Any) -> None:
                super().__init__(connections, **options)

        return Protocol

    def add(self, connection: LimitedProtocol, address: str) -> Problem | None:
        """Count a new connection; a problem if there are too many."""
        self.open.add(connection)
        self.by_address[address] += 1
        if len(self.open) > self.limits.connections:
            most, name = self.limits.connections, "PLAUDIT_CONNECTIONS"
        elif self.by_address[address] > self.limits.connections_per_address:
            most, name = self.limits.connections_per_address, "PLAUDIT_CONNECTIONS_PER_ADDRESS"
        else:
            return None
        detail = f"more than {most} connections are open ({name})"
        _, code, title = PROBLEMS[Overloaded]
        return problem(503, code, title, detail, None)

    def remove(self, connection: LimitedProtocol, address: str) -> None:
        """Forget a connection that was closed."""
        self.open.discard(connection)
        self.by_address[address] -= 1
        if self.by_address[address] <= 0:
            del self.by_address[address]

    def refused(self, code: str) -> None:
        """Count a connection that was closed because of a limit."""
        self.metrics.connections_refused.labels(code).inc()

    def sweep(self, seconds: float) -> None:
        """Close connections whose clients are too slow; called every ``seconds``."""
        for connection in list(self.open):
            connection.wait(seconds)


class LimitedProtocol(HttpToolsProtocol):
    """Uvicorn's HTTP protocol with limits.

    Requests only update a state and counters. `Connections.sweep` counts time, so that no request
    needs a timer.
    """

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._open = connections
        self._limits = connections.limits
        self._wait = _Wait()
        self._address = ""
        self._packet = 0  # bytes of the packet that is being parsed
        self._pending = 0  # those of them that may belong to incomplete headers
        self._unparsed = 0  # such bytes of earlier packets
        self._refusal: Problem | None = None
        self._answering: RequestResponseCycle | None = None

    def connection_made(self, transport: Any) -> None:
        """Accept the connection, or refuse it if there are too many."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        refusal = self._open.add(self, self._address)
        if refusal is not None:
            self._refuse(refusal)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release what the connection held."""
        self._open.remove(self, self._address)
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True  # uvicorn informs only the last request
            self._answering.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Remember the request that is being answered; others may wait behind it."""
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        """Parse a packet; refuse the request if its headers, or trailers, are too long."""
        if self.transport.is_closing():
            return
        if self._wait.state is _State.REQUEST:
            self._now(_State.HEADERS)
        self._packet = self._pending = len(data)
        super().data_received(data)
        self._unparsed += self._pending
        if self._unparsed > self._limits.header_bytes and not self.transport.is_closing():
            self._refuse(self._headers_too_large())

    def on_message_begin(self) -> None:
        """A request begins. Earlier bytes of the packet are not part of its headers."""
        self._unparsed = self._pending = 0
        self._now(_State.HEADERS)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the size exactly, unless the packets so far are too small to exceed the limit."""
        if self._unparsed + self._packet > self._limits.header_bytes:
            size = len(self.url) + sum(len(n) + len(v) + 4 for n, v in self.headers)
            if size > self._limits.header_bytes:
                self._refusal = self._headers_too_large()
                raise RefusedRequest
        self._unparsed = self._pending = 0
        self._now(_State.BODY)
        self._wait.body_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body arrived, so earlier bytes were not trailers."""
        self._unparsed = self._pending = 0
        self._wait.body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has arrived in full."""
        self._unparsed = self._pending = 0
        self._now(_State.REQUEST if self.cycle.response_complete else _State.RESPONSE)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The response was sent; the body of the request may still be on its way."""
        if self._wait.state is _State.RESPONSE and not self.pipeline:
            self._now(_State.REQUEST)
        super().on_response_complete()

    def _now(self, state: _State) -> None:
        self._wait.state, self._wait.seconds = state, 0.0

    def wait(self, seconds: float) -> None:
        """Count time that passed; close the connection if its client took too long."""
        self._count_unsent(seconds)
        if self._wait.state is _State.RESPONSE or self.flow.read_paused:
            return
        self._wait.seconds += seconds
        if self._wait.seconds <= self._allowed_seconds() or self.transport.is_closing():
            return
        if self._wait.state is _State.REQUEST:
            self.transport.close()
        else:
            detail = f"the {self._wait.state.value} took longer than this server waits"
            self._refuse(problem(408, *TITLES[408], detail, None))

    def _allowed_seconds(self) -> float:
        if self._wait.state is _State.REQUEST:
            return self._limits.idle_seconds
        if self._wait.state is _State.HEADERS:
            return self._limits.header_seconds
        return self._limits.body_seconds + self._wait.body_bytes / _SLOWEST

    def _count_unsent(self, seconds: float) -> None:
        """Abort a connection whose client does not read what was sent to it."""
        unsent = self.transport.get_write_buffer_size()
        is_stuck = unsent > 0 and unsent == self._wait.unsent
        self._wait.stuck_seconds = self._wait.stuck_seconds + seconds if is_stuck else 0.0
        self._wait.unsent = unsent
        if self._wait.stuck_seconds > self._limits.body_seconds:
            self.transport.abort()

    def _headers_too_large(self) -> Problem:
        most = self._limits.header_bytes
        detail = f"the request line and headers may have {most} bytes (PLAUDIT_HEADER_BYTES)"
        return problem(431, *TITLES[431], detail, None)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that the parser gave up on, with a problem instead of plain text."""
        if self.transport.is_closing():
            return
        self._refuse(self._refusal or problem(400, *TITLES[400], msg, None))

    def _refuse(self, refusal: Problem) -> None:
        """Close the connection, with a problem unless a response is being sent."""
        self._open.refused(refusal.code)
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(_message(refusal))
        self.transport.close()


def _message(refusal: Problem) -> bytes:
    """A problem as an HTTP response. It has no request id, for there may be no request."""
    content = refusal.model_dump_json(exclude_none=True).encode()
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", b"%d" % len(content)),
        (b"connection", b"close"),
    ]
    if refusal.status == 503:
        headers.append((b"retry-after", b"1"))
    lines = b"".join(b"%s: %s\r\n" % header for header in headers)
    return STATUS_LINE[refusal.status] + lines + b"\r\n" + content
