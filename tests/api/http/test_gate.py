"""What no part foresaw is answered with a problem too, with the request's id, and logged."""

import asyncio
import json
import logging

from starlette.requests import ClientDisconnect

from app.api.http.gate import Gate
from app.metrics import Metrics


def call(app, headers=()):
    """One request through the gate; the messages that came back."""
    gate = Gate(app, Metrics(), 1000, lambda _: True)
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": list(headers)}
    asyncio.run(gate(scope, receive, send))
    return sent


async def broken(scope, receive, send):
    raise RuntimeError("secret plans of the inside")


def test_an_unforeseen_error_is_a_problem_with_the_id(caplog):
    with caplog.at_level(logging.ERROR):
        start, body = call(broken, [(b"x-request-id", b"mine-1")])
    assert start["status"] == 500
    assert (b"x-request-id", b"mine-1") in start["headers"]
    problem = json.loads(body["body"])
    assert problem["code"] == "internal_error"
    assert problem["request_id"] == "mine-1"
    assert "secret" not in json.dumps(problem)
    assert "secret plans" in caplog.text


def test_a_client_that_went_away_is_no_error(caplog):
    async def gone(scope, receive, send):
        raise ClientDisconnect

    with caplog.at_level(logging.INFO):
        assert call(gone) == []
    assert not caplog.records


def test_ids_that_could_harm_a_log_are_replaced():
    async def fine(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})

    start, *_ = call(fine, [(b"x-request-id", b"a b\x07")])
    (given,) = [value for name, value in start["headers"] if name == b"x-request-id"]
    assert given != b"a b\x07"
    assert given.replace(b"-", b"").isalnum()
