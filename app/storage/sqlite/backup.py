"""Backup and restore of a SQLite database, with SQLite's online backup API, and its recordings.

Both read the source through SQLite, so that its write-ahead log is copied too. The recordings of
``backup.db`` are files in the folder ``backup.db.recordings`` next to it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from app.errors import StorageUnavailable
from app.storage.blobs.folder import FolderBlobs
from app.storage.migrations import known_revisions
from app.storage.sqlite.backup_recordings import copy_recordings
from app.storage.sqlite.engine import BUSY_MILLISECONDS, database_file
from app.storage.sqlite.file_lock import lock_database

Progress = Callable[[int, int], None]
"""Called with the number of pages copied so far and the total number of pages."""

_PAGES_PER_STEP = 1024


def back_up(url: str, recordings: Path, target: Path, progress: Progress) -> None:
    """Copy a database to a new file, and its recordings, while a server may be writing to it.

    The copy is the database at one moment. A backup that fails leaves no file.
    """
    source, folder = database_file(url), recordings_of(target)
    for path in (target, folder):
        if path.exists():
            raise StorageUnavailable(f"{path} exists already; name a file that does not exist")
    with _reported(f"{source} cannot be backed up"):
        try:
            with _copied(source, target, progress) as copy:
                copy_recordings(copy, source, FolderBlobs(recordings), FolderBlobs(folder))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def restore(url: str, recordings: Path, source: Path, progress: Progress) -> Path | None:
    """Replace a database, which no server may be using, by a backup that passes its checks.

    Returns where the database before it is kept, if there was one.
    """
    target, folder = database_file(url).resolve(), recordings.resolve()
    with lock_database(url), _reported(f"{source} cannot be restored"):
        _check(source)
        fresh = target.with_name(target.name + ".restoring")
        fresh_folder = folder.with_name(folder.name + ".restoring")
        fresh.unlink(missing_ok=True)
        shutil.rmtree(fresh_folder, ignore_errors=True)
        with _copied(source, fresh, progress) as copy:
            given, taken = FolderBlobs(recordings_of(source)), FolderBlobs(fresh_folder)
            copy_recordings(copy, source, given, taken)
        kept = _set_aside(target)
        _replace_folder(folder, fresh_folder)
        fresh.rename(target)
        _sync_folder(target)
    return kept


def recordings_of(backup: Path) -> Path:
    """The folder of a backup's recordings."""
    return backup.with_name(backup.name + ".recordings")


def _replace_folder(folder: Path, fresh: Path) -> None:
    """Replace a folder by another one. The old folder is kept under a new name."""
    kept = folder.with_name(folder.name + ".replaced")
    shutil.rmtree(kept, ignore_errors=True)
    if folder.exists():
        folder.rename(kept)
    if fresh.exists():
        fresh.rename(folder)
        _sync_folder(folder)


@contextmanager
def _copied(source: Path, target: Path, progress: Progress) -> Iterator[sqlite3.Connection]:
    """Copy a database to a temporary file, which is renamed to ``target`` on exit.

    So ``target`` is a complete database or does not exist.
    """
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        with closing(_open(source)) as reading, closing(sqlite3.connect(partial)) as writing:
            # A read transaction fixes the snapshot. Without it every commit would restart the copy.
            reading.execute("BEGIN")
            reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
            reading.backup(
                writing,
                pages=_PAGES_PER_STEP,
                progress=lambda _, left, total: progress(total - left, total),
            )
            writing.execute("PRAGMA journal_mode = DELETE")  # no write-ahead log
            yield writing
            writing.commit()
        _sync(partial)
        partial.rename(target)
        _sync_folder(target)
    finally:
        partial.unlink(missing_ok=True)


def _open(path: Path) -> sqlite3.Connection:
    """Open an existing database; a missing file is an error, and is not created."""
    if not path.is_file():
        raise StorageUnavailable(f"{path} is not a file; name a database file")
    address = f"file:{quote(str(path.resolve()))}?mode=rw"
    timeout = BUSY_MILLISECONDS / 1000
    return sqlite3.connect(address, uri=True, isolation_level=None, timeout=timeout)


def _check(path: Path) -> None:
    """Refuse a damaged file, and a database that this version of Plaudit cannot open."""
    with closing(_open(path)) as database:
        problems = [row[0] for row in database.execute("PRAGMA integrity_check(1)")]
        if problems != ["ok"]:
            raise StorageUnavailable(f"{path} is damaged: {problems[0]}")
        query = "SELECT name FROM sqlite_master WHERE name = 'alembic_version'"
        if database.execute(query).fetchone() is None:
            raise StorageUnavailable(f"{path} is not a database of Plaudit")
        found = database.execute("SELECT version_num FROM alembic_version").fetchone()
    if found is None or found[0] not in known_revisions():
        raise StorageUnavailable(f"{path} was made by a newer version of Plaudit; upgrade first")


def _set_aside(database: Path) -> Path | None:
    """Rename a database together with its write-ahead log, so that nothing is lost."""
    kept = database.with_name(database.name + ".replaced")
    for suffix in ("-wal", ""):
        kept.with_name(kept.name + suffix).unlink(missing_ok=True)
    database.with_name(database.name + "-shm").unlink(missing_ok=True)
    for suffix in ("-wal", ""):
        part = database.with_name(database.name + suffix)
        if part.exists():
            part.rename(kept.with_name(kept.name + suffix))
    return kept if kept.exists() else None


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(path: Path) -> None:
    _sync(path.resolve().parent)


@contextmanager
def _reported(what: str) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into one sentence."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StorageUnavailable(f"{what}: {error}") from error
