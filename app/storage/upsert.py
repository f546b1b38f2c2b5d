"""Inserts that tolerate existing rows, in the dialect of the connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, Table

from app.storage.backend import backend_in_use


def insert_or_ignore(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]
) -> None:
    """Insert rows; a row whose key exists is skipped."""
    if rows:
        statement = backend_in_use(connection).insert(table).on_conflict_do_nothing()
        connection.execute(statement, list(rows))


def insert_or_update(
    connection: Connection, table: Table, row: Mapping[str, object], update: Sequence[str]
) -> None:
    """Insert a row; where its key exists, set the columns ``update`` to the new values."""
    statement = backend_in_use(connection).insert(table)
    statement = statement.on_conflict_do_update(
        index_elements=list(table.primary_key),
        set_={name: statement.excluded[name] for name in update},
    )
    connection.execute(statement, dict(row))
