"""Every example is listed, and runs as it stands against a real server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import plaudit
from tests.support.system import need

FOLDER = Path(__file__).parent.parent / "examples"
PROGRAMS = sorted(
    path
    for path in FOLDER.iterdir()
    if path.suffix in (".py", ".sh") and path.name != "policy_to_c.py"  # tests/test_c.py runs it
)
# Program -> its agent, and how many episodes have a label when it is done.
AGENTS = {
    "curl.sh": ("door", 1),
    "robot.py": ("plain arm", 5),
    "late_labels.py": ("late", 5),
    "fleet.py": ("fleet", 4),
    "old_logs.py": ("old logs", 40),
    "custom_features.py": ("features", 2),
}


def test_every_example_is_listed():
    listed = re.findall(r"^\| \[.*?\]\((.*?)\)", (FOLDER / "README.md").read_text(), re.M)
    held = sorted(path.name for path in FOLDER.iterdir() if path.name != "README.md")
    assert sorted(listed) == held
    assert [path.name for path in PROGRAMS] == sorted(AGENTS)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_it_runs(path, shared_server):
    if path.suffix == ".sh":
        need("curl")
    command = ["sh"] if path.suffix == ".sh" else [sys.executable]
    source = str(FOLDER.parent / "client" / "src")
    run = subprocess.run(
        [*command, str(path)],
        env={**os.environ, "PLAUDIT_URL": shared_server.url, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout
    name, labelled = AGENTS[path.name]
    with plaudit.Client(shared_server.url) as client:
        agent = client.agent(name)
        assert agent.view.episodes.labelled == labelled
        agent.delete()
