"""Importing the wire schemas and the agents' registry loads nothing heavy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app import wire
from app.agents import AGENT_KINDS

HEAVY = {"numba", "numpy", "scipy", "sqlalchemy", "fastapi", "starlette", "uvicorn", "alembic"}
FOLDER = Path(wire.__path__[0])
SCHEMAS = sorted(
    ".".join(("app", "wire", *path.relative_to(FOLDER).with_suffix("").parts))
    for path in FOLDER.rglob("[a-z]*.py")
)
OPTIONS = [f"app.agents.kinds.{kind}.options" for kind in sorted(AGENT_KINDS)]


def loaded_by(*modules):
    """The top-level packages that a fresh process has loaded after these imports."""
    code = f"import sys, json, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return {name.partition(".")[0] for name in json.loads(found.stdout)}


@pytest.mark.parametrize(
    "modules", [SCHEMAS, ["app.agents"], OPTIONS], ids=["wire", "agents", "options"]
)
def test_nothing_heavy_is_imported(modules):
    assert loaded_by(*modules) & HEAVY == set()


def test_the_mathematics_of_a_kind_is_loaded_when_an_agent_is_made():
    """The check above can fail."""
    assert {"numpy", "numba"} <= loaded_by("app.agents.kinds.thompson.agent")
