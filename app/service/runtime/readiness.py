"""Whether the server is ready to serve."""

from __future__ import annotations

from typing import Literal

from app.errors import PlauditError
from app.service.training.process_pool import ProcessPool
from app.storage.database import Database
from app.storage.queries import agents as agent_queries


class Readiness:
    """Checks the database and the learning processes."""

    def __init__(self, database: Database, processes: ProcessPool) -> None:
        self._database = database
        self._processes = processes

    async def state(self) -> Literal["ok", "starting", "unavailable"]:
        """``ok`` if the database answers and a learning process has started."""
        try:
            await self._database.read(agent_queries.is_readable)
        except PlauditError:
            return "unavailable"
        return "ok" if self._processes.ready else "starting"
