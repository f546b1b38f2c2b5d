"""`plaudit migrate`, `backup` and `restore`, and transactions for other commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from app.storage.sqlite.backup import Progress

DatabaseUrl = Annotated[str | None, typer.Option(help="Database to use.")]


def migrate(database_url: DatabaseUrl = None) -> None:
    """Create the database, or upgrade it to the schema of this version."""
    from app.settings import load_settings
    from app.storage.database import prepare_database

    url = load_settings(database_url=database_url).database_url
    prepare_database(url)
    print(f"{url} is up to date")


def backup(
    target: Annotated[Path, typer.Argument(help="File to write; it must not exist.")],
    database_url: DatabaseUrl = None,
) -> None:
    """Copy the database to one file, recordings included; the server may keep running."""
    from app.settings import load_settings
    from app.storage.sqlite.backup import back_up

    url = load_settings(database_url=database_url).database_url
    with _progress_bar("Backing up") as progress:
        back_up(url, target, progress)
    print(f"{target} is a backup of {url}")


def restore(
    source: Annotated[Path, typer.Argument(help="Backup to restore.")],
    database_url: DatabaseUrl = None,
) -> None:
    """Check a backup and put it in the place of the database; stop the server first."""
    from app.settings import load_settings
    from app.storage.sqlite.backup import restore as restore_backup

    url = load_settings(database_url=database_url).database_url
    with _progress_bar("Restoring") as progress:
        kept = restore_backup(url, source, progress)
    print(f"{url} is restored from {source}")
    if kept is not None:
        print(f"{kept} is the database before it")


@contextmanager
def _progress_bar(name: str) -> Iterator[Progress]:
    """Show a progress bar on standard error if that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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
