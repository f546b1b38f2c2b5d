"""Flows: calls written once as generators, which a blocking or an async session drives.

A flow yields requests, is sent their replies, and returns what the call gives. It never waits or
touches the network itself, so that `Client` and `AsyncClient` share every line of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from plaudit._core.values import Json, plain
from plaudit.errors import UnexpectedAnswer
from plaudit.problems import problem_error

R = TypeVar("R")


@dataclass(frozen=True)
class Request:
    """An HTTP request, relative to the server's address."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    safe: bool = True
    """Whether the server may receive it twice without doing anything twice."""
    accepted: tuple[int, ...] = ()
    """Statuses that are answers here, although they ask for a retry elsewhere."""
    delay: float = 0.0
    """Seconds to wait before it is sent, for flows that look again and again."""


@dataclass(frozen=True)
class Reply:
    """An HTTP response, read to its end."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    tries: int = 1
    """How many times the request was sent; over 1, an earlier try may have been carried out."""

    @property
    def retried(self) -> bool:
        """Whether an earlier try may have been carried out."""
        return self.tries > 1

    def json(self) -> Json:
        """The body as plain values; an error status or another media type raises."""
        self.check()
        return read_json(self)

    def text(self) -> str:
        """The body as text; an error status raises."""
        self.check()
        return self.content.decode("utf-8", errors="replace")

    def check(self) -> Reply:
        """Raise the exception of a problem, if the server answered with one."""
        if not 200 <= self.status < 300:
            raise self.problem()
        return self

    def problem(self) -> Exception:
        """The exception of an error status."""
        if self.status >= 400 and "problem+json" in self.headers.get("content-type", ""):
            return problem_error(read_json(self), self.headers)
        return UnexpectedAnswer(self.status, self.headers, self.content)


def read_json(reply: Reply) -> Json:
    """The body of a reply as plain values."""
    try:
        values: Json = json.loads(reply.content)
    except ValueError:
        raise UnexpectedAnswer(reply.status, reply.headers, reply.content) from None
    return values


Flow = Generator[Request, Reply, R]


def json_request(
    method: str,
    path: str,
    body: Mapping[str, object],
    headers: Mapping[str, str] | None = None,
    safe: bool = True,
) -> Request:
    """A request with a JSON body; values of NumPy are taken as they are."""
    content = json.dumps(plain(body), allow_nan=False).encode()
    given = {"Content-Type": "application/json", **(headers or {})}
    return Request(method, path, headers=given, content=content, safe=safe)


def token(size: int) -> str:
    """Random bytes as text, for unique ids."""
    return os.urandom(size).hex()
