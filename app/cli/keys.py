"""`plaudit keys`: create, list and revoke keys, also while a server runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.cli.database import DatabaseUrl
from app.errors import NotFound
from app.wire.roles import Role

if TYPE_CHECKING:
    from app.storage.database import Transaction

app = typer.Typer(help="Create, list and revoke keys.", no_args_is_help=True)


@app.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="Name of the key, for people.")],
    role: Annotated[Role, typer.Option(help="What the key may be used for.")] = Role.actor,
    agent: Annotated[
        list[str] | None, typer.Option(help="Bind the key to this agent; may be repeated.")
    ] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Create a key and print its secret, once. A running server accepts it within seconds."""
    from app.service.access.keys import known_agents, new_key

    with _transaction(database_url) as connection:
        agents = known_agents(connection, agent) if agent else None
        key, secret, add = new_key(name, role, agents)
        add.apply(connection)
    Console(stderr=True).print(f"{key.id}  {role.value}  {name}", highlight=False, markup=False)
    print(secret)


@app.command("list")
def list_keys(database_url: DatabaseUrl = None) -> None:
    """List all keys, without their secrets."""
    from app.storage.queries.access import key_rows

    table = Table("id", "role", "name", "created", "revoked")
    with _transaction(database_url) as connection:
        for key in key_rows(connection):
            created, revoked = _minute(key.created_at), _minute(key.revoked_at)
            table.add_row(key.id, key.role, escape(key.name), created, revoked)
    Console().print(table)


@app.command("revoke")
def revoke_key(
    key: Annotated[str, typer.Argument(help="The id of the key.")],
    database_url: DatabaseUrl = None,
) -> None:
    """Revoke a key. A running server refuses it within seconds."""
    from app.storage.commands.access import RevokeKey
    from app.storage.database import now_milliseconds
    from app.storage.queries.access import key_rows

    with _transaction(database_url) as connection:
        if key not in {known.id for known in key_rows(connection)}:
            raise NotFound("key", key)
        RevokeKey(key, now_milliseconds()).apply(connection)
    print(f"{key} is revoked")


@contextmanager
def _transaction(database_url: str | None) -> Iterator[Transaction]:
    """Open a transaction on the configured database."""
    from app.settings import load_settings
    from app.storage.database import transaction

    settings = load_settings(database_url=database_url)
    with transaction(settings.database_url, settings.recordings_folder) as connection:
        yield connection


def _minute(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")
