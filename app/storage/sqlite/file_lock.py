"""The lock that lets one server at a time use a SQLite database."""

from __future__ import annotations

import fcntl
from typing import IO

from app.errors import UnsafeStart
from app.storage.sqlite.engine import database_file


def lock_database(url: str) -> IO[str]:
    """Take the lock beside the database file, whose folder is created if needed."""
    path = database_file(url).resolve()  # a symlink names the same database
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
            "another server uses this database; give this one a PLAUDIT_DATABASE_URL of its own"
        ) from error
    return file
