"""Answers that are remembered: a retry with the same Idempotency-Key gets the same one."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.errors import Conflict, InvalidValue
from app.hosting.database import Database, now_milliseconds
from app.storage import reading, writes
from app.storage.writer import Write

KEPT_MILLISECONDS = 24 * 3600 * 1000
_LONGEST_KEY = 255


@dataclass(frozen=True)
class Answer:
    """What was answered: status and body."""

    status: int
    body: str
    replayed: bool = False


@dataclass(frozen=True)
class Request:
    """A request that must not happen twice: who asked for what, under which key."""

    scope: str  # the caller and the route
    key: str
    fingerprint: str  # of the body

    def remember(self, answer: Answer) -> Write:
        """The write that keeps the answer, to be stored together with what it tells of."""
        row = {
            "scope": self.scope,
            "key": self.key,
            "fingerprint": self.fingerprint,
            "status": answer.status,
            "body": answer.body,
            "at": now_milliseconds(),
        }
        return Write(writes.ADD_ANSWER, row)


class Answers:
    """Makes every request with an Idempotency-Key happen once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._under_way: dict[tuple[str, str], asyncio.Future[Answer]] = {}

    async def once(
        self, scope: str, key: str, body: bytes, act: Callable[[Request], Awaitable[Answer]]
    ) -> Answer:
        """The answer to a request: the one given before, or else what ``act`` gives."""
        if not 0 < len(key) <= _LONGEST_KEY or not key.isprintable():
            raise InvalidValue("Idempotency-Key", f"1 to {_LONGEST_KEY} printable characters")
        request = Request(scope, key, hashlib.sha256(body).hexdigest())
        place = scope, key
        while place in self._under_way:  # the same request at the same time: only one acts
            await asyncio.wait([self._under_way[place]])
        done: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._under_way[place] = done
        try:
            known = await self._known(request)
            return known if known is not None else await act(request)
        finally:
            del self._under_way[place]
            done.cancel()

    async def _known(self, request: Request) -> Answer | None:
        row = await self._database.read(reading.answer_row, request.scope, request.key)
        if row is None:
            return None
        if row.fingerprint != request.fingerprint:
            raise Conflict(
                "idempotency_key_reused", "this Idempotency-Key came with another body before"
            )
        return Answer(row.status, row.body, replayed=True)

    async def forget_old(self) -> None:
        """Drop answers older than a day."""
        before = now_milliseconds() - KEPT_MILLISECONDS
        await self._database.write([Write(writes.FORGET_ANSWERS, {"before": before})])
