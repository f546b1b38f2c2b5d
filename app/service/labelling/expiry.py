"""Expiry: labels that fall due."""

from __future__ import annotations

import logging

from app.errors import PlauditError
from app.service.labelling.labels import Labels
from app.service.runtime.ids import episode_id
from app.storage.database import Database, now_milliseconds
from app.storage.queries import episodes

log = logging.getLogger(__name__)

_AT_ONCE = 200  # overdue labels handled together


async def expire_overdue(database: Database, labels: Labels) -> None:
    """Apply the timeout of every overdue episode."""
    due = await database.read(episodes.episodes_due, now_milliseconds(), _AT_ONCE)
    for agent, number in due:
        try:
            await labels.expire(episode_id(agent, number))
        except PlauditError as error:
            log.warning(
                "an overdue label could not be given",
                extra={"episode": episode_id(agent, number), "reason": str(error)},
            )
