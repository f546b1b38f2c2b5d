"""When steps are filed: whenever enough have come, and now and then in any case."""

from __future__ import annotations

import logging

from app.errors import PlauditError
from app.hosting.database import Database
from app.storage.journal import SLICE, filing

log = logging.getLogger(__name__)

_REST = 100 * SLICE  # what is left from busier times


class Filing:
    """Keeps the journal of steps short."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unfiled = 0

    def count(self, steps: int) -> None:
        """So many steps were appended; nobody waits for what follows from that."""
        self._unfiled += steps
        if self._unfiled >= SLICE:
            self._unfiled -= SLICE
            try:
                self._database.writer.submit(filing())
            except PlauditError as error:  # they stay where they are until the next time
                log.warning("steps are filed later", extra={"reason": str(error)})

    async def file_rest(self) -> None:
        """File what is left."""
        await self._database.write(filing(_REST))
