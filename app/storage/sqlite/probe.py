"""A write that changes nothing but a counter, to see whether the disk takes writes."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

_MOST = 2**31


@dataclass(frozen=True, slots=True)
class ProbeWrite:
    """Count up the number that SQLite keeps for applications and that nothing else here uses."""

    def apply(self, connection: Connection) -> None:
        """Write one page."""
        number = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        connection.exec_driver_sql(f"PRAGMA user_version = {(number + 1) % _MOST}")
