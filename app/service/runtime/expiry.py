"""Expiry: episodes that run too long, and labels that fall due."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from app.errors import PlauditError
from app.service.episodes.lifecycle import Lifecycle
from app.service.labelling.labels import Labels
from app.service.runtime.ids import episode_id
from app.storage.database import Database, now_milliseconds
from app.storage.queries import episodes

log = logging.getLogger(__name__)

_AT_ONCE = 200  # overdue episodes handled together


async def expire_running(database: Database, lifecycle: Lifecycle) -> None:
    """Abandon every episode that has run longer than its agent's ``running_timeout``."""
    overdue = await database.read(episodes.episodes_overdue, now_milliseconds(), _AT_ONCE)
    await _expire(overdue, lifecycle.abandon_running)


async def expire_labels(database: Database, labels: Labels) -> None:
    """Apply the ``label_timeout`` of every episode whose label is overdue."""
    overdue = await database.read(episodes.episodes_due, now_milliseconds(), _AT_ONCE)
    await _expire(overdue, labels.expire)


async def _expire(
    overdue: Sequence[tuple[int, int]], expire: Callable[[str], Awaitable[None]]
) -> None:
    for agent, number in overdue:
        try:
            await expire(episode_id(agent, number))
        except PlauditError as error:
            log.warning(
                "an overdue episode could not be ended",
                extra={"episode": episode_id(agent, number), "reason": str(error)},
            )
