"""Housekeeping: what falls due with time, for as long as the server runs."""

from __future__ import annotations

import asyncio
import logging

from app.errors import PlauditError
from app.service.access.idempotency import Idempotency
from app.service.access.keys import REFRESH_SECONDS, Keys
from app.service.access.sessions import Sessions
from app.service.agents.warnings import Warnings
from app.service.episodes.lifecycle import Lifecycle
from app.service.episodes.recordings import Recordings
from app.service.labelling.labels import Labels
from app.service.labelling.queue import LabelQueue
from app.service.runtime.cache import Cache
from app.service.runtime.expiry import expire_labels, expire_running
from app.storage.database import Database

log = logging.getLogger(__name__)

_TICK_SECONDS = 0.5
_CLEAN_SECONDS = 30.0
_SWEEP_TICKS = int(3600 / _TICK_SECONDS)
_KEY_TICKS = int(REFRESH_SECONDS / _TICK_SECONDS)


class Housekeeping:
    """Ends what is overdue, and removes unused data from memory and disk."""

    def __init__(
        self,
        database: Database,
        cache: Cache,
        lifecycle: Lifecycle,
        labels: Labels,
        queue: LabelQueue,
        idempotency: Idempotency,
        recordings: Recordings,
        keys: Keys,
        sessions: Sessions,
        warnings: Warnings,
        idle_seconds: float,
    ) -> None:
        self._database = database
        self._cache = cache
        self._lifecycle = lifecycle
        self._labels = labels
        self._queue = queue
        self._idempotency = idempotency
        self._recordings = recordings
        self._keys = keys
        self._sessions = sessions
        self._warnings = warnings
        self._idle_seconds = idle_seconds

    async def run(self) -> None:
        """Repeat until cancelled; a failure is logged and never ends it."""
        every = max(1, int(min(_CLEAN_SECONDS, self._idle_seconds) / _TICK_SECONDS))
        ticks = 0
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            try:
                await expire_running(self._database, self._lifecycle)
                await expire_labels(self._database, self._labels)
                if ticks % _KEY_TICKS == 0:  # a revoked key's streams end, also without requests
                    await self._keys.refresh()
                if ticks % every == 0:
                    await self._clean()
                if ticks % _SWEEP_TICKS == _SWEEP_TICKS - 1:
                    await self._recordings.sweep()
            except PlauditError as error:
                log.warning("housekeeping failed", extra={"reason": str(error)})
            except Exception:  # labels must fall due for as long as the server runs
                log.exception("housekeeping failed unexpectedly")
            ticks += 1

    async def _clean(self) -> None:
        self._cache.drop_idle(self._idle_seconds)
        for agent in list(self._cache.agents.values()):
            await self._warnings.review(agent)
        self._queue.leases.drop_old()
        await self._idempotency.forget_old()
        await self._sessions.forget_old()
