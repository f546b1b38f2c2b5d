"""Connections to PostgreSQL, with psycopg."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url

from app.errors import InvalidValue, UnsafeStart

CONNECT_SECONDS = 5
LOCK_MILLISECONDS = 5000  # that a transaction waits for another one
# The system closes a connection whose other end has vanished after about this long.
_DEAD_SECONDS = 20

_LIBPQ = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": _DEAD_SECONDS // 2,
    "keepalives_interval": _DEAD_SECONDS // 4,
    "keepalives_count": 2,
    "tcp_user_timeout": 1000 * _DEAD_SECONDS,
    "application_name": "plaudit",
}


def make_writing_engine(
    url: str, synchronous: str = "FULL", busy_seconds: float | None = None
) -> Engine:
    """One connection, which commits to disk before it returns.

    It waits for a lock of another transaction for at most ``busy_seconds``.
    """
    engine = make_engine(url, pool_size=1)
    busy = LOCK_MILLISECONDS if busy_seconds is None else max(1, round(1000 * busy_seconds))
    durable = "on" if synchronous == "FULL" else "off"

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        connection.execute(f"SET synchronous_commit = {durable}")
        connection.execute(f"SET lock_timeout = {busy}")
        connection.commit()

    return engine


def make_reading_engine(url: str, connections: int) -> Engine:
    """A bounded pool; each transaction sees the database as it was at its first query."""
    engine = make_engine(url, connections, pool_pre_ping=True, isolation_level="REPEATABLE READ")

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        connection.read_only = True

    return engine


def driver_url(url: str) -> URL:
    """The URL with the driver that this package uses."""
    parsed = make_url(url)
    if parsed.drivername not in ("postgresql", "postgresql+psycopg"):
        raise InvalidValue("database_url", "postgresql+psycopg://… for PostgreSQL")
    return parsed.set(drivername="postgresql+psycopg")


def make_engine(url: str, pool_size: int, **options: Any) -> Engine:
    """An engine with a bounded pool."""
    address = driver_url(url)
    given = {name: value for name, value in _LIBPQ.items() if name not in address.query}
    try:
        return create_engine(
            address,
            connect_args=given,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=CONNECT_SECONDS,
            **options,
        )
    except ModuleNotFoundError as error:
        raise UnsafeStart("PostgreSQL needs a driver: pip install 'plaudit[postgres]'") from error
