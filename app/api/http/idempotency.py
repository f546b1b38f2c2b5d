"""Idempotency-Key, for every POST that creates something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import Header, Request

from app.service.access.idempotency import Remember
from app.service.access.keys import Caller
from app.service.runtime.container import Container

Result = TypeVar("Result")

IdempotencyKey = Annotated[
    str | None,
    Header(
        max_length=255,
        description="makes a retry safe: the same key and body make one thing, not two",
    ),
]


async def once(
    request: Request,
    host: Container,
    caller: Caller,
    key: str | None,
    act: Callable[[Remember | None], Awaitable[Result]],
    again: Callable[[str], Awaitable[Result]],
) -> Result:
    """Carry a request out, or answer it from what it made before."""
    if key is None:
        return await act(None)
    scope = f"{caller.key} {request.method} {request.url.path}"[:200]
    return await host.answers.once(scope, key, await request.body(), act, again)
