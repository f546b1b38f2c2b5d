"""Idempotency: a retry with the same Idempotency-Key gets the same answer."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from app.errors import Conflict, InvalidValue, NotFound, Stale
from app.storage.commands.access import ForgetAnswers
from app.storage.database import Database, now_milliseconds
from app.storage.queries import access
from app.storage.rows import AnswerRow

KEPT_MILLISECONDS = 24 * 3600 * 1000
_LONGEST_KEY = 255

Remember = Callable[[str], AnswerRow]
"""The answer to keep for a request, from the id of what it created."""
Result = TypeVar("Result")


class Idempotency:
    """Carries out every request with an Idempotency-Key once.

    The id of the created object is stored in the same transaction. A retry is answered with the
    current state of that object.
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
        """The result of ``act``; or of ``again`` with the id of what it created before."""
        if not 0 < len(key) <= _LONGEST_KEY or not key.isprintable():
            raise InvalidValue("Idempotency-Key", f"1 to {_LONGEST_KEY} printable characters")
        fingerprint, place = hashlib.sha256(body).hexdigest(), (scope, key)
        while place in self._under_way:  # the same request is in progress: wait for it
            await asyncio.wait([self._under_way[place]])
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way[place] = done
        try:
            created = await self._created_before(scope, key, fingerprint)
            if created is not None:
                return await _answer(again, created)
            try:
                return await act(
                    lambda id_: AnswerRow(scope, key, fingerprint, id_, now_milliseconds())
                )
            except Stale:  # another process may have handled the same request
                created = await self._created_before(scope, key, fingerprint)
                if created is None:
                    raise
                return await _answer(again, created)
        finally:
            del self._under_way[place]
            done.set_result(None)

    async def _created_before(self, scope: str, key: str, fingerprint: str) -> str | None:
        row = await self._database.read(access.answer_row, scope, key)
        if row is None:
            return None
        if row.fingerprint != fingerprint:
            raise Conflict(
                "idempotency_key_reused",
                "This Idempotency-Key was used with another body. Use a new key.",
            )
        return row.created_id

    async def forget_old(self) -> None:
        """Drop answers older than a day."""
        await self._database.commit(ForgetAnswers(now_milliseconds() - KEPT_MILLISECONDS))


async def _answer(again: Callable[[str], Awaitable[Result]], created: str) -> Result:
    """What a request created before, unless it was deleted since."""
    try:
        return await again(created)
    except NotFound as error:
        raise Conflict(
            "created_and_deleted",
            f"This Idempotency-Key created {created}, which was deleted since. Use a new key.",
        ) from error
