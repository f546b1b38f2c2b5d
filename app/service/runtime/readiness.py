"""Whether the server is ready to serve."""

from __future__ import annotations

import asyncio
import time
from typing import Literal, NamedTuple

from app.errors import PlauditError
from app.service.training.process_pool import ProcessPool
from app.storage.database import Database
from app.storage.queries import agents as agent_queries

_KEPT_SECONDS = 1.0  # however many ask, one write a second


class State(NamedTuple):
    """Whether the server is ready, and if not, why."""

    status: Literal["ok", "starting", "unavailable"]
    reason: str | None = None


class Readiness:
    """Checks that the database can be read and written, and the learning processes."""

    def __init__(self, database: Database, processes: ProcessPool) -> None:
        self._database = database
        self._processes = processes
        self._checking = asyncio.Lock()
        self._checked_at = -_KEPT_SECONDS
        self._trouble: str | None = None

    async def state(self) -> State:
        """``ok`` if the database takes reads and writes and a learning process has started."""
        async with self._checking:
            if time.monotonic() - self._checked_at >= _KEPT_SECONDS:
                self._trouble = await self._find_trouble()
                self._checked_at = time.monotonic()
        if self._trouble is not None:
            return State("unavailable", self._trouble)
        if not self._processes.ready:
            return State("starting", "No learning process has started yet.")
        return State("ok")

    async def _find_trouble(self) -> str | None:
        try:
            await self._database.read(agent_queries.is_readable)
            await self._database.check_writable()
        except PlauditError as error:
            return str(error)
        return None
