"""For operators: alive, ready, and metrics."""

from __future__ import annotations

from plaudit._core.flow import Flow, Request, read_json
from plaudit._core.parsing import parse
from plaudit.answers.operations import Health


def read_health() -> Flow[Health]:
    """Whether the server answers at all."""
    reply = yield Request("GET", "/healthz")
    return parse(Health, reply.json())


def read_readiness() -> Flow[Health]:
    """Whether the database answers and learning can begin; one that is not ready is no error."""
    reply = yield Request("GET", "/readyz", accepted=(503,))
    if reply.status == 503 and "problem+json" not in reply.headers.get("content-type", ""):
        return parse(Health, read_json(reply))
    return parse(Health, reply.json())


def read_metrics() -> Flow[str]:
    """Numbers for Prometheus, in its text form."""
    reply = yield Request("GET", "/metrics")
    return reply.text()
