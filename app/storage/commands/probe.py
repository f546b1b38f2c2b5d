"""A write that changes nothing, to see whether the disk takes writes."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from app.storage.backend import backend_in_use


@dataclass(frozen=True, slots=True)
class ProbeWrite:
    """Write something that changes nothing."""

    def apply(self, connection: Connection) -> None:
        """Write as little as the database can."""
        backend_in_use(connection).probe_write(connection)
