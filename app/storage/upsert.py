"""Inserts that tolerate existing rows, in the dialect of the connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

_INSERT: Mapping[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def insert_or_ignore(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]
) -> None:
    """Insert rows; a row whose key exists is skipped."""
    if rows:
        statement = _INSERT[connection.dialect.name](table).on_conflict_do_nothing()
        connection.execute(statement, list(rows))


def insert_or_update(
    connection: Connection, table: Table, row: Mapping[str, object], update: Sequence[str]
) -> None:
    """Insert a row; where its key exists, set the columns ``update`` to the new values."""
    statement = _INSERT[connection.dialect.name](table)
    statement = statement.on_conflict_do_update(
        index_elements=list(table.primary_key),
        set_={name: statement.excluded[name] for name in update},
    )
    connection.execute(statement, dict(row))
