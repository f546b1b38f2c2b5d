"""Answers that are remembered: a retry with the same Idempotency-Key gets the same one."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from app.errors import Conflict, InvalidValue
from app.storage import commands
from app.storage.database import Database, now_milliseconds
from app.storage.queries import reading
from app.storage.sqlite.writer import Write

KEPT_MILLISECONDS = 24 * 3600 * 1000
_LONGEST_KEY = 255


Remember = Callable[[str], Write]  # the write that keeps what a request made, by its id
Result = TypeVar("Result")


class Answers:
    """Makes every request with an Idempotency-Key happen once.

    What is kept is the id of what the request made, stored in the same transaction; a retry is
    answered with what that id stands for now.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._under_way: dict[tuple[str, str], asyncio.Future[None]] = {}

    async def once(
        self,
        scope: str,
        key: str,
        body: bytes,
        act: Callable[[Remember], Awaitable[Result]],
        again: Callable[[str], Awaitable[Result]],
    ) -> Result:
        """What ``act`` gives; or what ``again`` makes of the id of what it made before."""
        if not 0 < len(key) <= _LONGEST_KEY or not key.isprintable():
            raise InvalidValue("Idempotency-Key", f"1 to {_LONGEST_KEY} printable characters")
        fingerprint, place = hashlib.sha256(body).hexdigest(), (scope, key)
        while place in self._under_way:  # the same request at the same time: only one acts
            await asyncio.wait([self._under_way[place]])
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way[place] = done
        try:
            made = await self._made_before(scope, key, fingerprint)
            if made is not None:
                return await again(made)
            return await act(lambda id_: _remember(scope, key, fingerprint, id_))
        finally:
            del self._under_way[place]
            done.set_result(None)

    async def _made_before(self, scope: str, key: str, fingerprint: str) -> str | None:
        row = await self._database.read(reading.answer_row, scope, key)
        if row is None:
            return None
        if row.fingerprint != fingerprint:
            raise Conflict(
                "idempotency_key_reused", "this Idempotency-Key came with another body before"
            )
        made: str = row.made
        return made

    async def forget_old(self) -> None:
        """Drop answers older than a day."""
        before = now_milliseconds() - KEPT_MILLISECONDS
        await self._database.write([Write(commands.FORGET_ANSWERS, {"before": before})])


def _remember(scope: str, key: str, fingerprint: str, made: str) -> Write:
    row = {
        "scope": scope,
        "key": key,
        "fingerprint": fingerprint,
        "made": made,
        "at": now_milliseconds(),
    }
    return Write(commands.ADD_ANSWER, row)
