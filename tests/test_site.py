"""The documentation as a site: it builds without a warning, and its programs run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.running import RunningServer

ROOT = Path(__file__).parent.parent
GUIDES = sorted((ROOT / "docs/guides").glob("*.md"))
PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)


def test_it_builds_without_a_warning():
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (ROOT / "build/site/tutorial.html").read_text()
    assert "vacuum" in page
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("site")) as server:
        yield server


@pytest.fixture
def run(server, monkeypatch, tmp_path):
    """Run the programs of a page one after the other, as somebody would paste them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLAUDIT_URL", server.url)

    def run(path):
        names = {}
        programs = PROGRAM.findall(path.read_text())
        assert programs, "a guide without a program"
        for program in programs:
            exec(compile(program, path.name, "exec"), names)
        return names

    return run


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_the_programs_of_a_guide_run(path, run):
    run(path)


def test_the_tutorial_trains_an_agent(run, capsys):
    names = run(ROOT / "docs/tutorial.md")
    assert names["agent"].view.episodes.labelled == 60
    # One seed, and the same requests: always the same run.
    assert names["good"] >= 15
    assert "60 labels, success so far" in capsys.readouterr().out
