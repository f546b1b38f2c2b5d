"""The command on steps: what is known of them beside their state and their answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection

from app.storage.rows import StepDetail
from app.storage.schema import step_details
from app.storage.upsert import insert_or_update


@dataclass(frozen=True, slots=True)
class RecordStepDetails:
    """Record details of steps; a later one says who acted after all."""

    details: Sequence[StepDetail]

    def apply(self, connection: Connection) -> None:
        """Insert the rows; where there is one already, it keeps what the client allowed."""
        for detail in self.details:
            insert_or_update(connection, step_details, asdict(detail), ["actor", "executed"])
