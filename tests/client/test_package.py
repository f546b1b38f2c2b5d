"""The distribution: what importing it loads, what it exports, which Python it runs on."""

import ast
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import plaudit
from plaudit import answers, problems

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "client" / "src"
FILES = sorted((SOURCE / "plaudit").rglob("*.py"))


def loaded_by(statement):
    """The modules that a statement loads in a fresh interpreter."""
    program = (
        f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    )
    run = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path.insert(0, {str(SOURCE)!r}); " + program,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


def test_importing_it_loads_the_standard_library_and_nothing_slow():
    """Everything in under 0.3 seconds: no httpx, which waits until there is a client."""
    tops = {name.partition(".")[0] for name in loaded_by("import plaudit")}
    assert tops - set(sys.stdlib_module_names) == {"plaudit"}
    slow = {
        "asyncio",
        "email",
        "http",
        "importlib.metadata",
        "multiprocessing",
        "ssl",
        "urllib.request",
    }
    assert slow & loaded_by("import plaudit") == set()


def test_it_depends_on_httpx_alone():
    project = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())["project"]
    assert [re.match(r"[\w-]+", need)[0] for need in project["dependencies"]] == ["httpx"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_written_for_python_3_10_and_never_imports_the_server(path):
    tree = ast.parse(path.read_text(), feature_version=(3, 10))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert "app" not in {name.partition(".")[0] for name in names}


def test_every_public_name_is_exported():
    """`__all__` holds the clients, every answer and every exception."""
    assert sorted(plaudit.__all__) == sorted(set(plaudit.__all__))
    exported = {getattr(plaudit, name) for name in plaudit.__all__}
    names = [info.name for info in pkgutil.iter_modules(answers.__path__)]
    assert len(names) > 5
    for module in [problems, *(import_module(f"plaudit.answers.{name}") for name in names)]:
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__ == module.__name__ and name[0] != "_":
                assert value in exported, name


def test_everything_public_has_a_docstring():
    for name in plaudit.__all__:
        assert name == "__version__" or getattr(plaudit, name).__doc__, name


def test_calls_look_like_functions():
    """Editors and `help` see names, parameters and docstrings, in both clients."""
    for kind in (plaudit.Client, plaudit.AsyncClient):
        call = kind.take_step
        assert list(inspect.signature(call).parameters) == [
            "self",
            "episode",
            "state",
            "step",
            "explain",
            "action",
            "executed",
            "allowed",
        ]
        assert call.__name__ == "take_step"
        assert "get an action" in call.__doc__
    with plaudit.Client() as client:
        assert next(iter(inspect.signature(client.take_step).parameters)) == "episode"
        assert next(iter(inspect.signature(client.agent).parameters)) == "name"
