"""What an agent has learned: model, policy, learning curve, events."""

from __future__ import annotations

import json
from typing import Literal

from plaudit._core.flow import Flow, Request
from plaudit._core.parsing import parse
from plaudit._core.session import Page, Pager
from plaudit.answers.insight import (
    CurveView,
    Event,
    ModelView,
    PolicyVersionView,
    PolicyView,
)
from plaudit.endpoints.body import path
from plaudit.endpoints.paging import page_request, read_page
from plaudit.errors import UnexpectedAnswer


def read_model(agent: str) -> Flow[ModelView]:
    """The learned weights, visit counts, transition estimate and bonuses."""
    reply = yield Request("GET", path("agents", agent, "model"))
    return parse(ModelView, reply.json())


def read_policy(
    agent: str,
    *,
    mode: Literal["learn", "exploit"] = "learn",
    episode: str | None = None,
    known: PolicyView | None = None,
) -> Flow[PolicyView]:
    """The policy in force, to run without the server; ``episode`` asks for a running episode's.

    ``known`` is a policy that was read before: it is returned itself if it is still in force.
    """
    query = {"mode": mode} if episode is None else {"episode": episode}
    headers = {} if known is None else {"If-None-Match": known.etag}
    reply = yield Request("GET", path("agents", agent, "policy"), query=query, headers=headers)
    if known is not None and reply.status == 304:
        return known
    data = reply.json()
    if not isinstance(data, dict):
        raise UnexpectedAnswer.of_body("expected a policy")
    return parse(PolicyView, {**data, "etag": reply.headers.get("etag", "")})


def read_curve(agent: str) -> Flow[CurveView]:
    """The learning curve: observed success with its interval, and every policy's promise."""
    reply = yield Request("GET", path("agents", agent, "learning-curve"))
    return parse(CurveView, reply.json())


def list_policies(agent: str, *, page_size: int = 100) -> Pager[PolicyVersionView]:
    """Iterate over the policy versions of an agent, the newest first."""

    def page(cursor: str | None) -> Flow[Page[PolicyVersionView]]:
        reply = yield page_request(path("agents", agent, "policies"), page_size, cursor)
        return read_page(PolicyVersionView, reply.json())

    return Pager(page)


def pin_policy(agent: str, version: int) -> Flow[PolicyVersionView]:
    """Keep a policy version in force while learning goes on: new episodes start on it."""
    where = path("agents", agent, "policies", str(version), "pin")
    reply = yield Request("POST", where)
    return parse(PolicyVersionView, reply.json())


def unpin_policy(agent: str) -> Flow[None]:
    """Let new episodes start on the newest policy again."""
    reply = yield Request("DELETE", path("agents", agent, "pin"))
    reply.check()


class EventLines:
    """Server-sent events; after a break the stream continues behind the last event."""

    endless = True

    def __init__(self, agent: str, after: int | None) -> None:
        self._agent = agent
        self._after = after
        self._name, self._data = "", ""

    def request(self) -> Request:
        """The request that continues behind the last event that was read."""
        headers = {"Accept": "text/event-stream"}
        if self._after is not None:
            headers["Last-Event-ID"] = str(self._after)
        self._name, self._data = "", ""
        return Request("GET", path("agents", self._agent, "events"), headers=headers)

    def read(self, line: str) -> Event | None:
        """The event that an empty line completes."""
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data += value
        if line or not self._data:
            return None
        event = parse(Event, {"kind": self._name, **json.loads(self._data)})
        self._name, self._data, self._after = "", "", event.number
        return event


def stream_events(agent: str, *, after: int | None = None) -> EventLines:
    """Iterate over events as they come: episodes over, labels given, policies replaced.

    The stream reconnects by itself and misses nothing after its first event. ``after`` is the
    number of the last event that you know: the stream then begins behind it.
    """
    return EventLines(agent, after)
