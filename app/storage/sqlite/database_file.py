"""The database file that was opened, and whether it is still the one in its place."""

from __future__ import annotations

import os
from pathlib import Path

from app.errors import StorageUnavailable


class DatabaseFile:
    """Notices that the file, or its write-ahead log, was moved, deleted or replaced.

    SQLite keeps writing to the files that it has open, wherever they are now. What it acknowledges
    then is not in the database that the next start opens.
    """

    def __init__(self, path: Path) -> None:
        self._paths = (path, path.with_name(path.name + "-wal"))
        self._known: dict[Path, tuple[int, int]] = {}
        self.check()

    def check(self) -> None:
        """Raise `StorageUnavailable` unless every file that was seen is in its place."""
        for path in self._paths:
            try:
                found = os.stat(path)
            except FileNotFoundError:
                identity = None
            else:
                identity = found.st_dev, found.st_ino
            known = self._known.get(path)
            if known is None and identity is not None:
                self._known[path] = identity
            elif known != identity:
                raise StorageUnavailable(
                    "The database file was moved, deleted or replaced while the server was "
                    "running. Put it back, or restart the server."
                )
