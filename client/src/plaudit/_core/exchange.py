"""One request with its retries, and one stream of lines with its reconnections.

Both are generators of effects that know neither httpx nor a clock that blocks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Generic, Protocol, TypeVar

from plaudit._core.backoff import Backoff
from plaudit._core.flow import Reply, Request, token
from plaudit.errors import ConnectionFailed, TimedOut
from plaudit.problems import read_retry_after

log = logging.getLogger("plaudit")

T = TypeVar("T")
Item = TypeVar("Item", covariant=True)
RETRIED_STATUSES = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class Send:
    """Effect: send a request and read the whole response; answered with a Reply."""

    request: Request


@dataclass(frozen=True)
class Sleep:
    """Effect: wait; answered with None."""

    seconds: float


@dataclass(frozen=True)
class Open:
    """Effect: open a stream in place of the one before; answered with a Reply.

    The Reply of an error status has its content; that of a success is empty.
    """

    request: Request


@dataclass(frozen=True)
class ReadLine:
    """Effect: read the next line of the open stream; answered with None at its end."""


@dataclass(frozen=True)
class Emit(Generic[Item]):
    """Effect: hand an item to the caller; answered with None."""

    item: Item


class Unreachable(Exception):
    """A try without an answer. The session throws it into a generator of effects."""

    def __init__(self, reason: str, *, sent: bool, timed_out: bool, hopeless: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent  # whether the server may have received the request
        self.timed_out = timed_out
        self.hopeless = hopeless  # whether the next try must fail too


Effect = Send | Sleep | Open | ReadLine
Answered = Reply | str | None
Exchange = Generator[Send | Sleep, Answered, Reply]
Stream = Generator[Open | ReadLine | Sleep | Emit[T], Answered, None]


@dataclass(frozen=True)
class Rules:
    """How long to keep trying, and who is asked."""

    url: str
    patience: float
    backoff: Backoff = field(default_factory=Backoff)
    clock: Callable[[], float] = time.monotonic


def exchange(request: Request, rules: Rules) -> Exchange:
    """Send a request until the server answers it, or patience ends.

    A request that is not safe to repeat is repeated only where it surely never arrived.
    """
    request = _identified(request)
    if request.delay:
        yield Sleep(request.delay)
    began = rules.clock()
    for tries in count(1):
        reply: Reply | None = None
        failure: Unreachable | None = None
        try:
            reply = _reply((yield Send(request)))
            if reply.status not in RETRIED_STATUSES or reply.status in request.accepted:
                return replace(reply, tries=tries)
        except Unreachable as unreachable:
            failure = unreachable
        delay = rules.backoff.delay(tries, _asked_to_wait(reply))
        spent = rules.clock() - began
        if spent + delay > rules.patience or not _may_repeat(request, failure):
            if reply is not None:
                return replace(reply, tries=tries)
            assert failure is not None
            raise _connection_failed(rules, request, failure, tries, spent) from failure
        _tell(rules, tries, reply, failure)
        yield Sleep(delay)
    raise AssertionError("unreachable")


def _identified(request: Request) -> Request:
    """The request with an id that all its tries share, for the logs of both sides."""
    return replace(request, headers={"X-Request-ID": token(8), **request.headers})


def _reply(answered: Answered) -> Reply:
    assert isinstance(answered, Reply)
    return answered


def _asked_to_wait(reply: Reply | None) -> float:
    return 0.0 if reply is None else read_retry_after(reply.headers.get("retry-after")) or 0.0


def _may_repeat(request: Request, failure: Unreachable | None) -> bool:
    """A status that asks for a retry says that nothing was done; a lost answer does not."""
    return failure is None or not (failure.hopeless or (failure.sent and not request.safe))


def _connection_failed(
    rules: Rules, request: Request, failure: Unreachable, tries: int, spent: float
) -> ConnectionFailed:
    kind = TimedOut if failure.timed_out else ConnectionFailed
    request_id = request.headers["X-Request-ID"]
    return kind(rules.url, failure.reason, tries, spent, request_id)


def _tell(rules: Rules, tries: int, reply: Reply | None, failure: Unreachable | None) -> None:
    reason = failure.reason if failure is not None else f"status {reply.status}" if reply else ""
    level = logging.WARNING if tries == 3 else logging.DEBUG
    message = "%s does not answer (%s); trying again for up to %.0f s"
    log.log(level, message, rules.url, reason, rules.patience)


class Lines(Protocol[Item]):
    """A stream of lines: how to open it again where it broke, and what its lines say."""

    endless: bool
    """Whether an end of the stream is a break. Otherwise the stream ends there."""

    def request(self) -> Request:
        """The request that opens the stream after what was read so far."""

    def read(self, line: str) -> Item | None:
        """The item that a line completes, if it does."""


def follow(lines: Lines[T], rules: Rules) -> Stream[T]:
    """Read a stream, and open it again where it breaks, until patience ends.

    Patience begins again with every line: only a server that stays away ends a stream.
    """
    failures, since = 0, rules.clock()
    while True:
        failure, reply = Unreachable("the stream ended", sent=True, timed_out=False), None
        request = _identified(lines.request())
        try:
            reply = _reply((yield Open(request)))
            if reply.status not in RETRIED_STATUSES:
                reply.check()
                while (line := (yield ReadLine())) is not None:
                    failures, since = 0, rules.clock()
                    item = lines.read(str(line))
                    if item is not None:
                        yield Emit(item)
                if not lines.endless:
                    return
        except Unreachable as unreachable:
            failure = unreachable
        failures += 1
        delay = rules.backoff.delay(failures, _asked_to_wait(reply))
        spent = rules.clock() - since
        if failure.hopeless or spent + delay > rules.patience:
            if reply is not None and reply.status in RETRIED_STATUSES:
                raise reply.problem()
            raise _connection_failed(rules, request, failure, failures, spent) from failure
        _tell(rules, failures, reply, failure)
        yield Sleep(delay)
