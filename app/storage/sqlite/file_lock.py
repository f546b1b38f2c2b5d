"""A file lock: only one server at a time uses a SQLite database."""

from __future__ import annotations

import fcntl
from typing import IO

from app.errors import UnsafeStart
from app.storage.sqlite.engine import database_file


def lock_database(url: str) -> IO[str]:
    """Take the lock file next to the database file. Creates the folder if needed."""
    path = database_file(url).resolve()  # resolved, because a symlink names the same database
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path.with_name(path.name + ".lock"), "w")  # noqa: SIM115 - held while serving
    except OSError as error:
        raise UnsafeStart(f"the database's folder cannot be used: {error}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise UnsafeStart(
            "another server is using this database; stop it, or set another PLAUDIT_DATABASE_URL"
        ) from error
    return file
