"""Backup and restore of a real SQLite file, and the checkpoint on close."""

import asyncio
import shutil
import sqlite3
import threading
from contextlib import closing

import pytest

from app.errors import StorageUnavailable, UnsafeStart
from app.storage.blobs.folder import FolderBlobs
from app.storage.blobs.recordings import recordings_folder
from app.storage.database import Database, prepare_database
from app.storage.migrations import migrate
from app.storage.sqlite.backup import back_up, restore
from app.storage.sqlite.engine import make_writing_engine
from app.storage.sqlite.file_lock import lock_database

pytestmark = pytest.mark.sqlite


@pytest.fixture
def database(tmp_path):
    """A database of this version with one secret in it."""
    path = tmp_path / "plaudit.db"
    prepare_database(url_of(path))
    add_secrets(path, ["first"])
    return path


def url_of(path):
    return f"sqlite:///{path}"


def recordings(path):
    return recordings_folder(url_of(path), None)


def add_secrets(path, names):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO secrets VALUES (?, x'00')", [(name,) for name in names])


def secrets(path):
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM secrets")}


def ignore(done, total):
    """No progress is shown."""


def bare_copy(path):
    """The file without its write-ahead log."""
    return shutil.copy(path, path.with_name("bare.db"))


class _AddSecret:
    def apply(self, connection):
        connection.exec_driver_sql("INSERT INTO secrets VALUES ('second', x'00')")


def close_after_write(path):
    async def run():
        database = Database(url_of(path))
        await database.commit(_AddSecret())
        await database.close()

    asyncio.run(run())


def test_the_bare_file_holds_everything_after_close_even_if_another_process_has_it_open(database):
    with closing(sqlite3.connect(database)) as other:
        other.execute("SELECT count(*) FROM secrets").fetchone()
        close_after_write(database)
        assert secrets(bare_copy(database)) == {"first", "second"}


def test_a_log_that_a_reader_holds_back_is_reported(database, caplog, monkeypatch):
    monkeypatch.setattr("app.storage.sqlite.engine.BUSY_MILLISECONDS", 50)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM secrets").fetchone()
        close_after_write(database)
    assert [record.message for record in caplog.records] == ["checkpoint failed"]
    assert secrets(database) == {"first", "second"}


def test_a_backup_holds_what_is_only_in_the_log(database, tmp_path):
    with closing(sqlite3.connect(database)) as server:
        server.execute("INSERT INTO secrets VALUES ('in the log', x'00')")
        server.commit()
        assert secrets(bare_copy(database)) == {"first"}
        back_up(url_of(database), recordings(database), tmp_path / "backup.db", ignore)
    assert secrets(tmp_path / "backup.db") == {"first", "in the log"}


def test_a_backup_under_load_is_one_moment_and_ends(database, tmp_path):
    """Every transaction adds two rows: a backup never holds one without the other."""
    add_secrets(database, [f"{'x' * 30}{number}" for number in range(50_000)])
    before, stop, progress = len(secrets(database)), threading.Event(), []

    def write():
        number = 0
        while not stop.is_set():
            add_secrets(database, [f"a{number}", f"b{number}"])
            number += 1

    writing = threading.Thread(target=write)
    writing.start()
    try:
        target = tmp_path / "backup.db"
        back_up(
            url_of(database),
            recordings(database),
            target,
            lambda done, total: progress.append((done, total)),
        )
    finally:
        stop.set()
        writing.join()
    added = len(secrets(target)) - before
    assert added % 2 == 0
    assert len({total for _, total in progress}) == 1
    assert progress == sorted(progress)
    assert progress[-1][0] == progress[-1][1]
    with closing(sqlite3.connect(target)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert not list(tmp_path.glob("backup.db?*"))


def test_a_backup_overwrites_nothing(database, tmp_path):
    target = tmp_path / "backup.db"
    target.write_text("precious")
    with pytest.raises(StorageUnavailable, match="exists already"):
        back_up(url_of(database), recordings(database), target, ignore)
    assert target.read_text() == "precious"


def test_a_backup_that_fails_leaves_no_file(tmp_path):
    (tmp_path / "bad.db").write_text("garbage" * 1000)
    with pytest.raises(StorageUnavailable, match="not a database"):
        back_up(url_of(tmp_path / "bad.db"), tmp_path / "no", tmp_path / "backup.db", ignore)
    with pytest.raises(StorageUnavailable, match="is not a file"):
        back_up(url_of(tmp_path / "missing.db"), tmp_path / "no", tmp_path / "backup.db", ignore)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.db"]


def test_restore_replaces_the_database_and_its_log_and_keeps_both(database, tmp_path):
    back_up(url_of(database), recordings(database), tmp_path / "backup.db", ignore)
    with closing(sqlite3.connect(database)) as crashed:  # its log is never checkpointed
        crashed.execute("INSERT INTO secrets VALUES ('later', x'00')")
        crashed.commit()
        kept = restore(url_of(database), recordings(database), tmp_path / "backup.db", ignore)
        assert secrets(database) == {"first"}
    assert secrets(kept) == {"first", "later"}
    assert secrets(restore_again(database, tmp_path / "backup.db")) == {"first"}


def restore_again(database, backup):
    return restore(url_of(database), recordings(database), backup, ignore)


def test_restore_reads_the_log_of_its_source(database, tmp_path):
    source = tmp_path / "copied" / "plaudit.db"
    source.parent.mkdir()
    with closing(sqlite3.connect(database)) as crashed:
        crashed.execute("INSERT INTO secrets VALUES ('in the log', x'00')")
        crashed.commit()
        for suffix in ("", "-wal"):
            shutil.copy(f"{database}{suffix}", f"{source}{suffix}")
    target = tmp_path / "new" / "plaudit.db"
    assert restore(url_of(target), recordings(target), source, ignore) is None
    assert secrets(target) == {"first", "in the log"}


def test_restore_refuses_a_database_in_use(database, tmp_path):
    back_up(url_of(database), recordings(database), tmp_path / "backup.db", ignore)
    with lock_database(url_of(database)), pytest.raises(UnsafeStart, match="another server"):
        restore(url_of(database), recordings(database), tmp_path / "backup.db", ignore)


def garbage(path):
    path.write_bytes(b"garbage" * 1000)


def empty(path):
    path.write_bytes(b"")


def damaged(path):
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)


def newer(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (garbage, "not a database"),
        (empty, "not a database of Plaudit"),
        (damaged, "is damaged|malformed"),
        (newer, "made by a newer version"),
    ],
)
def test_restore_checks_its_source_first(database, tmp_path, spoil, reason):
    backup = tmp_path / "backup.db"
    back_up(url_of(database), recordings(database), backup, ignore)
    spoil(backup)
    with pytest.raises(StorageUnavailable, match=reason):
        restore(url_of(database), recordings(database), backup, ignore)
    assert secrets(database) == {"first"}
    assert not list(tmp_path.glob("*.replaced"))


def add_recording(path, blob, content=b"content", episode=0):
    writer = FolderBlobs(recordings(path)).create(blob)
    writer.write(content)
    writer.commit()
    row = (1, episode, "image/png", len(content), blob, 5)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("REPLACE INTO recordings VALUES (?, ?, ?, ?, ?, ?)", row)


def contents(path, folder):
    """The recordings that a database names, read from a folder."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT episode, blob FROM recordings").fetchall()
    return {episode: (folder / blob).read_bytes() for episode, blob in rows}


def test_a_backup_has_the_recordings_and_restore_brings_them_back(database, tmp_path):
    add_recording(database, "1/0-a", b"x" * 3_000_000)
    add_recording(database, "1/1-b", b"other", episode=1)
    backup = tmp_path / "elsewhere" / "backup.db"
    backup.parent.mkdir()
    back_up(url_of(database), recordings(database), backup, ignore)
    add_recording(database, "1/0-c", b"later")
    restore(url_of(database), recordings(database), backup, ignore)
    assert contents(database, recordings(database)) == {0: b"x" * 3_000_000, 1: b"other"}
    replaced = tmp_path / "plaudit.db.replaced"
    kept = tmp_path / "plaudit.db.recordings.replaced"
    assert contents(replaced, kept) == {0: b"later", 1: b"other"}


class _Gone(FolderBlobs):
    """Blobs of which one is deleted by the server right after the database was copied."""

    def __init__(self, folder, change):
        super().__init__(folder)
        self._change = [change]

    def open(self, name):
        while self._change:
            self._change.pop()()
        return super().open(name)


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_recording_that_changes_during_a_backup_is_there_as_it_is_now(
    database, tmp_path, monkeypatch, is_replaced
):
    add_recording(database, "1/0-a", b"old")

    def change():
        FolderBlobs(recordings(database)).delete("1/0-a")
        if is_replaced:
            add_recording(database, "1/0-b", b"new")
        else:
            with closing(sqlite3.connect(database)) as connection, connection:
                connection.execute("DELETE FROM recordings")

    monkeypatch.setattr(
        "app.storage.sqlite.backup.FolderBlobs",
        lambda folder: _Gone(folder, change) if folder == recordings(database) else blobs(folder),
    )
    blobs, backup = FolderBlobs, tmp_path / "backup.db"
    back_up(url_of(database), recordings(database), backup, ignore)
    found = contents(backup, tmp_path / "backup.db.recordings")
    assert found == ({0: b"new"} if is_replaced else {})


def test_a_backup_without_its_folder_of_recordings_is_refused(database, tmp_path):
    add_recording(database, "1/0-a", b"kept")
    backup = tmp_path / "backup.db"
    back_up(url_of(database), recordings(database), backup, ignore)
    shutil.rmtree(tmp_path / "backup.db.recordings")
    with pytest.raises(StorageUnavailable, match="copy the folder of recordings"):
        restore(url_of(database), recordings(database), backup, ignore)
    assert contents(database, recordings(database)) == {0: b"kept"}


def test_a_backup_of_an_older_version_has_its_recordings_in_the_database(tmp_path):
    path = tmp_path / "old.db"
    engine = make_writing_engine(url_of(path))
    migrate(engine, "0002")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO recordings VALUES (1, 0, 'image/png', 3, x'010203', 5)"
        )
    engine.dispose()
    restored = tmp_path / "new" / "plaudit.db"
    restore(url_of(restored), recordings(restored), path, ignore)
    prepare_database(url_of(restored))
    assert contents(restored, recordings(restored)) == {0: b"\1\2\3"}
