"""Bulk requests: each entry gets its own result or its own problem."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from app.api.http.problems import problem_of
from app.errors import PlauditError

Entry = TypeVar("Entry")
Result = TypeVar("Result")


async def attempt(result: Awaitable[Result]) -> Result | PlauditError:
    """The result of an entry, or the error that it ended in."""
    try:
        return await result
    except PlauditError as error:
        return error


async def attempt_each(
    entries: Sequence[Entry],
    episode_of: Callable[[Entry], str],
    act: Callable[[Entry], Awaitable[Result]],
) -> list[Result | PlauditError]:
    """Act on every entry: one episode in order, different episodes in parallel."""
    groups: dict[str, list[int]] = {}
    for i, entry in enumerate(entries):
        groups.setdefault(episode_of(entry), []).append(i)
    outcomes: dict[int, Result | PlauditError] = {}

    async def run(group: list[int]) -> None:
        for i in group:
            outcomes[i] = await attempt(act(entries[i]))

    await asyncio.gather(*(run(group) for group in groups.values()))
    return [outcomes[i] for i in range(len(entries))]


def entry_of(outcome: BaseModel | PlauditError, request_id: str | None) -> dict[str, Any]:
    """The result of an entry, or its problem, as fields of its answer."""
    if isinstance(outcome, PlauditError):
        return {"problem": problem_of(outcome, request_id).model_dump(exclude_none=True)}
    return {"result": outcome.model_dump()}
