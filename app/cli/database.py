"""`plaudit migrate`, and transactions for other commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

DatabaseUrl = Annotated[str | None, typer.Option(help="Database to use.")]


def migrate(database_url: DatabaseUrl = None) -> None:
    """Create the database, or upgrade it to the schema of this version."""
    from app.settings import load_settings
    from app.storage.database import prepare_database

    url = load_settings(database_url=database_url).database_url
    prepare_database(url)
    print(f"{url} is up to date")


@contextmanager
def transaction(database_url: str | None) -> Iterator[Connection]:
    """Open a transaction on the configured database; a server may be using it at the same time."""
    from sqlalchemy.exc import SQLAlchemyError

    from app.errors import StorageUnavailable
    from app.settings import load_settings
    from app.storage.sqlite.engine import database_file, make_writing_engine, reason_of

    url = load_settings(database_url=database_url).database_url
    database_file(url).parent.mkdir(parents=True, exist_ok=True)
    engine = make_writing_engine(url)
    try:
        _upgrade(engine, url)
        with engine.begin() as connection:
            yield connection
    except SQLAlchemyError as error:
        raise StorageUnavailable(f"the database cannot be used: {reason_of(error)}") from error
    finally:
        engine.dispose()


def _upgrade(engine: Engine, url: str) -> None:
    """Upgrade a database whose schema is out of date, unless a server is using it."""
    from app.storage.database import prepare_database
    from app.storage.migrations import current_revision, newest_revision

    if current_revision(engine) != newest_revision():
        engine.dispose()
        prepare_database(url)
