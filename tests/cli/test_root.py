"""`plaudit` without a command, and what it imports before it runs one."""

import json
import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from app.cli.root import app

HEAVY = {"numba", "scipy", "numpy", "sqlalchemy", "alembic", "fastapi", "uvicorn", "gymnasium"}


def loaded_by(code):
    """The packages that a fresh process has imported after it ran some code."""
    report = "import json, sys; print(json.dumps(sorted({n.split('.')[0] for n in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["keys", "--help"], ["serve", "--help"], ["backup", "--help"]],
)
def test_help_and_version_load_nothing_heavy(arguments):
    code = f"""
import sys
from app.cli import main
sys.argv = ["plaudit", *{arguments}]
try:
    main()
except SystemExit as left:
    assert not left.code
"""
    assert not loaded_by(code) & HEAVY


@pytest.mark.parametrize("module", ["settings", "logs", "errors"])
def test_foundations_load_nothing_heavy(module):
    assert not loaded_by(f"import app.{module}") & HEAVY


def test_the_check_sees_what_is_loaded():
    assert loaded_by("import app.server") >= {"numba", "sqlalchemy", "fastapi"}


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"plaudit {version('plaudit')}\n"


def test_it_runs_as_a_module():
    command = [sys.executable, "-m", "app.cli", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"plaudit {version('plaudit')}\n")


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_the_commands(arguments):
    result = CliRunner().invoke(app, arguments)
    assert "Traceback" not in result.output
    for command in ("serve", "migrate", "backup", "restore", "keys", "simulate"):
        assert command in result.output
