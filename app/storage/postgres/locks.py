"""Advisory locks: PostgreSQL releases them when the connection that holds them ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from sqlalchemy import Engine, event, text

from app.errors import UnsafeStart
from app.storage.postgres.engine import make_engine

_CLASS = 0x706C6175  # "plau": apart from advisory locks of other programs
_PATIENCE_SECONDS = 5.0  # until PostgreSQL has noticed that a killed server is gone


class Lock(IntEnum):
    """What is done by one process at a time."""

    migration = 1
    serving = 2


@contextmanager
def held_for_migration(url: str) -> Iterator[None]:
    """Wait for other migrations, refuse if a server is running, and keep both away."""
    engine = make_engine(url, pool_size=1, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            parameters = {"class": _CLASS, "lock": Lock.migration}
            connection.execute(text("SELECT pg_advisory_lock(:class, :lock)"), parameters)
            _take_serving(connection.connection.driver_connection)
            yield
    finally:
        engine.dispose()  # the connection ends, and with it the locks


def hold_while_connected(engine: Engine) -> None:
    """Let every connection of an engine hold the lock of a server, and be useless without it."""

    @event.listens_for(engine, "connect")
    def _take(connection: Any, _record: object) -> None:
        _take_serving(connection)


def _take_serving(connection: Any) -> None:
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while not _try(connection, Lock.serving):
        if time.monotonic() > give_up:
            raise UnsafeStart(
                "another server is using this database; "
                "stop it, or set another PLAUDIT_DATABASE_URL"
            )
        time.sleep(0.1)


def _try(connection: Any, lock: Lock) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (_CLASS, int(lock))).fetchone()
    connection.commit()
    return bool(row[0])
