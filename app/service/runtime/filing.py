"""When steps are filed: whenever enough have come, and now and then in any case."""

from __future__ import annotations

import logging

from app.errors import PlauditError
from app.storage.database import Database
from app.storage.sqlite.journal import PARTS, filing

log = logging.getLogger(__name__)

_ENOUGH = 1000  # steps since the last filing, and so about as many that are filed: milliseconds


class Filing:
    """Keeps the journal of steps short."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unfiled = 0
        self._part = 0

    def count(self, steps: int) -> None:
        """So many steps were appended; nobody waits for what follows from that."""
        self._unfiled += steps
        if self._unfiled >= _ENOUGH:
            self._unfiled -= _ENOUGH
            self._part = (self._part + 1) % PARTS
            try:
                self._database.writer.submit(filing(self._part))
            except PlauditError as error:  # they stay where they are until the next time
                log.warning("steps are filed later", extra={"reason": str(error)})

    async def file_rest(self) -> None:
        """File what is left, with one commit."""
        await self._database.write([write for part in range(PARTS) for write in filing(part)])
