"""The Idempotency-Key header: a repeated POST creates nothing twice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request

from app.api.http.dependencies import container_of
from app.service.access.idempotency import Idempotency, Remember
from app.service.access.keys import Caller

Result = TypeVar("Result")

IdempotencyKey = Annotated[
    str | None,
    Header(
        max_length=255,
        description="makes a retry safe: the same key and body create only one object",
    ),
]


class OnceOnly:
    """Carries out a request once for each Idempotency-Key."""

    def __init__(self, request: Request, idempotency: Idempotency, key: str | None) -> None:
        self._request = request
        self._idempotency = idempotency
        self._key = key

    @property
    def has_key(self) -> bool:
        """Whether the request has an Idempotency-Key."""
        return self._key is not None

    async def run(
        self,
        caller: Caller,
        create: Callable[[Remember | None], Awaitable[Result]],
        created_before: Callable[[str], Awaitable[Result]],
        part: str = "",
        fingerprint: bytes | None = None,
    ) -> Result:
        """The result of ``create``.

        If a request with the same key created something before, ``created_before`` answers with
        the id of that. ``part`` distinguishes the objects that one request creates.
        ``fingerprint`` stands for a body that was streamed.
        """
        if self._key is None:
            return await create(None)
        request = self._request
        scope = f"{caller.key} {request.method} {request.url.path}{part}"[:200]
        body = await request.body() if fingerprint is None else fingerprint
        return await self._idempotency.once(scope, self._key, body, create, created_before)


async def _once_only(request: Request, idempotency_key: IdempotencyKey = None) -> OnceOnly:
    return OnceOnly(request, container_of(request).idempotency, idempotency_key)


Once = Annotated[OnceOnly, Depends(_once_only)]
