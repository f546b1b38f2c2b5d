"""Blobs as files in a folder.

A blob is written to a file in ``.unfinished``, synced and renamed, and its folder is synced. After
a crash a blob is complete or does not exist.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.errors import NotFound, StorageUnavailable
from app.storage.blobs.base import Blob

UNFINISHED = ".unfinished"
_NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
# Frequent syncs are short, so that the syncs of the database do not wait long.
_SYNC_BYTES = 4_000_000


class FolderBlobs:
    """Blob storage in a folder, which is created with the first blob."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self, name: str) -> FileWriter:
        """Begin to write a blob."""
        target = self._path(name)
        with _reported(f"{self.folder} cannot be written"):
            unfinished = self.folder / UNFINISHED
            unfinished.mkdir(parents=True, exist_ok=True)
            return FileWriter(unfinished / secrets.token_hex(16), target)

    @contextmanager
    def open(self, name: str) -> Iterator[FileReader]:
        """Open a blob for reading. It stays readable if it is deleted while open."""
        try:
            handle = os.open(self._path(name), os.O_RDONLY)
        except FileNotFoundError as error:
            raise NotFound("file", name, "with name") from error
        except OSError as error:
            raise StorageUnavailable(f"{name} cannot be read: {error.strerror}") from error
        try:
            yield FileReader(handle)
        finally:
            os.close(handle)

    def delete(self, name: str) -> None:
        """Delete a blob, and its folder once that is empty."""
        path = self._path(name)
        with _reported(f"{name} cannot be deleted"):
            path.unlink(missing_ok=True)
        for parent in path.parents:
            if parent == self.folder or not _remove_empty(parent):
                return

    def list(self, prefix: str = "") -> Iterator[Blob]:
        """Every blob whose name starts with ``prefix``; other files are left out."""
        start = self.folder / prefix.rpartition("/")[0]
        with _reported(f"{self.folder} cannot be read"):
            for folder, inner, files in os.walk(start):
                inner[:] = [name for name in inner if name != UNFINISHED]
                for file in files:
                    blob = self._blob(Path(folder, file))
                    if blob is not None and blob.name.startswith(prefix):
                        yield blob

    def discard_unfinished(self, before: float) -> None:
        """Delete files that a crash left half written."""
        with _reported(f"{self.folder} cannot be cleaned"):
            for path in self.folder.glob(f"{UNFINISHED}/*"):
                if path.stat().st_mtime < before:
                    path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError(f"not the name of a blob: {name!r}")
        return self.folder / name

    def _blob(self, path: Path) -> Blob | None:
        name = path.relative_to(self.folder).as_posix()
        try:
            found = path.stat()
        except FileNotFoundError:  # deleted meanwhile
            return None
        return Blob(name, found.st_size, found.st_mtime) if _NAME.fullmatch(name) else None


class FileWriter:
    """A file that is renamed once it is complete."""

    def __init__(self, unfinished: Path, target: Path) -> None:
        self._unfinished, self._target = unfinished, target
        self._file = unfinished.open("xb")
        self._not_synced = 0

    def write(self, chunk: bytes) -> None:
        """Append some bytes."""
        with _reported(f"{self._target.name} cannot be written"):
            self._file.write(chunk)
            self._not_synced += len(chunk)
            if self._not_synced >= _SYNC_BYTES:
                self._sync()

    def commit(self) -> None:
        """Sync the file, rename it, and sync its folder."""
        with _reported(f"{self._target.name} cannot be written"):
            self._sync()
            self._file.close()
            _make_folder(self._target.parent)
            self._unfinished.rename(self._target)
            _sync_folder(self._target.parent)

    def abort(self) -> None:
        """Delete the file if it has no name yet."""
        with _reported(f"{self._unfinished} cannot be deleted"):
            try:
                self._file.close()
            finally:
                self._unfinished.unlink(missing_ok=True)

    def _sync(self) -> None:
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self._not_synced = 0


class FileReader:
    """An open file."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def read(self, first: int, length: int) -> bytes:
        """Some bytes from ``first`` on."""
        with _reported("the file cannot be read"):
            return os.pread(self._handle, length, first)


def _make_folder(folder: Path) -> None:
    """Create a folder durably: its parent is synced too."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def _remove_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:  # it is not empty, or was deleted
        return False
    return True


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _reported(what: str) -> Iterator[None]:
    """Turn errors of the file system into one sentence."""
    try:
        yield
    except OSError as error:
        raise StorageUnavailable(f"{what}: {error.strerror or error}") from error
