"""`plaudit backup` and `plaudit restore`."""

import sqlite3
from contextlib import closing

import pytest

from app.storage.sqlite.file_lock import lock_database

pytestmark = [pytest.mark.sqlite, pytest.mark.usefixtures("wide")]


def test_a_backup_restores_what_was_there(plaudit, tmp_path):
    database, backup = tmp_path / "plaudit.db", tmp_path / "backup.db"
    option = ("--database-url", f"sqlite:///{database}")
    assert plaudit("keys", "create", "arm", "--role", "actor", *option)[0] == 0
    code, printed, _ = plaudit("backup", str(backup), *option)
    assert (code, printed) == (0, f"{backup} is a backup of sqlite:///{database}\n")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM keys")
    code, printed, _ = plaudit("restore", str(backup), *option)
    assert code == 0
    assert f"{database}.replaced is the database before it" in printed
    assert "arm" in plaudit("keys", "list", *option)[1]


def test_errors_are_one_line(plaudit, tmp_path):
    option = ("--database-url", f"sqlite:///{tmp_path / 'plaudit.db'}")
    assert plaudit("migrate", *option)[0] == 0
    code, _, error = plaudit("backup", str(tmp_path / "plaudit.db"), *option)
    assert (code, error.count("\n")) == (2, 1)
    assert "exists already" in error
    assert plaudit("backup", str(tmp_path / "backup.db"), *option)[0] == 0
    with lock_database(option[1]):
        code, _, error = plaudit("restore", str(tmp_path / "backup.db"), *option)
    assert (code, error.count("\n")) == (2, 1)
    assert "another server is using this database" in error
