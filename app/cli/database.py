"""`plaudit migrate`, `backup` and `restore`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from app.storage.sqlite.backup import Progress

DatabaseUrl = Annotated[str | None, typer.Option(help="Database to use.")]


def migrate(database_url: DatabaseUrl = None) -> None:
    """Create the database, or upgrade it to the schema of this version."""
    from app.settings import load_settings
    from app.storage.backend import shown
    from app.storage.database import prepare_database

    settings = load_settings(database_url=database_url)
    prepare_database(settings.database_url, settings.recordings_folder)
    print(f"{shown(settings.database_url)} is up to date")


def backup(
    target: Annotated[Path, typer.Argument(help="File to write; it must not exist.")],
    database_url: DatabaseUrl = None,
) -> None:
    """Copy the database to a file, and its recordings to a folder next to that file.

    The server may keep running.
    """
    from app.storage.sqlite.backup import back_up

    url, recordings = _places(database_url)
    with progress_bar("Backing up") as progress:
        back_up(url, recordings, target, progress)
    print(f"{target} is a backup of {url}")


def restore(
    source: Annotated[Path, typer.Argument(help="Backup to restore.")],
    database_url: DatabaseUrl = None,
) -> None:
    """Check a backup and put it in the place of the database; stop the server first."""
    from app.storage.sqlite.backup import restore as restore_backup

    url, recordings = _places(database_url)
    with progress_bar("Restoring") as progress:
        kept = restore_backup(url, recordings, source, progress)
    print(f"{url} is restored from {source}")
    if kept is not None:
        print(f"{kept} is the database before it")


def _places(database_url: str | None) -> tuple[str, Path]:
    """The address of a SQLite database, and the folder of its recordings."""
    from app.errors import InvalidValue
    from app.settings import load_settings
    from app.storage.blobs.recordings import recordings_folder
    from app.storage.sqlite.engine import is_sqlite

    settings = load_settings(database_url=database_url)
    url = settings.database_url
    if not is_sqlite(url):
        raise InvalidValue(
            "database_url",
            "a SQLite file. Back up PostgreSQL with pg_dump, and copy the recordings",
        )
    return url, recordings_folder(url, settings.recordings_folder)


@contextmanager
def progress_bar(name: str) -> Iterator[Progress]:
    """Show a progress bar on standard error if that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
