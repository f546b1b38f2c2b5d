"""Insert many steps into SQLite with few driver calls."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, islice

from sqlalchemy import Connection

from app.storage.schema import steps
from app.storage.unit_of_work import StepTuple

_ROWS_PER_CALL = 128


def insert_steps(connection: Connection, rows: Iterable[StepTuple]) -> None:
    """Insert steps; a step that exists already is an integrity error.

    Each driver call releases the global interpreter lock and then waits for it, so one call per row
    would wait for the event loop once per row. Row counts are powers of two, so that the driver
    can keep the few statements prepared.
    """
    remaining = iter(rows)
    while batch := list(islice(remaining, _ROWS_PER_CALL)):
        done = 0
        while done < len(batch):
            size = 1 << (len(batch) - done).bit_length() - 1
            values = tuple(chain.from_iterable(batch[done : done + size]))
            connection.exec_driver_sql(_insert_sql(size), values)
            done += size


@lru_cache
def _insert_sql(rows: int) -> str:
    names = [column.name for column in steps.c]
    place = f"({', '.join('?' * len(names))})"
    return f"INSERT INTO steps ({', '.join(names)}) VALUES {', '.join([place] * rows)}"
