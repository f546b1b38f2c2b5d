"""The command line in this process."""

import sys

import pytest

from app.cli import main


@pytest.fixture
def wide(monkeypatch):
    """A terminal without colours on which nothing is broken into lines."""
    for name, value in {"COLUMNS": "400", "NO_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def plaudit(monkeypatch, tmp_path, capsys):
    """Run the command in this process; return its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["plaudit", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return call
