"""`plaudit copy`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.database import progress_bar


def copy(
    source: Annotated[str, typer.Argument(help="Database to copy, such as sqlite:///data/x.db.")],
    target: Annotated[str, typer.Argument(help="Empty database to copy to.")],
    source_recordings: Annotated[
        Path | None, typer.Option(help="Folder of the recordings to copy.")
    ] = None,
    target_recordings: Annotated[
        Path | None, typer.Option(help="Folder to copy the recordings to.")
    ] = None,
) -> None:
    """Copy a database and its recordings, for example from SQLite to PostgreSQL.

    Stop the servers first. Run it again to continue a copy that was interrupted.
    """
    from app.storage.backend import shown
    from app.storage.blobs.recordings import recordings_folder
    from app.storage.copy import Place, copy_database

    given = Place(source, source_recordings or recordings_folder(source, None))
    new = Place(target, target_recordings or recordings_folder(target, None))
    with progress_bar("Copying") as progress:
        rows = copy_database(given, new, progress)
    print(f"{shown(target)} is a copy of {shown(source)}: {rows} rows, checksums compared")
