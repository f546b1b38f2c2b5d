"""The programs on the page of the client and in the README work as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/client.md").read_text()
README = (ROOT / "README.md").read_text()


def programs(page):
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


class Robot:
    """Something that has a state and does actions."""

    def __init__(self):
        self.done = []

    def state(self):
        return "near" if len(self.done) % 3 else "far"

    def do(self, action):
        assert action in ("grip", "move")
        self.done.append(action)


def ask_somebody():
    return True


def run(program, names):
    exec(compile(program, "client.md", "exec"), names)
    return names


@pytest.fixture
def names(start_server, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLAUDIT_URL", start_server().url)
    return {"robot": Robot(), "ask_somebody": ask_somebody}


def test_a_robot_and_everything_after_it(names, capsys):
    _, *rest = programs(PAGE)
    assert len(rest) == 6
    for program in rest:
        run("import plaudit\n" + program, names)
    assert len(names["robot"].done) == 20
    counts = names["agent"].refresh().episodes
    assert (counts.labelled, counts.abandoned) == (2, 1)
    synced, statuses, pointers = capsys.readouterr().out.splitlines()
    assert "uploaded=1, waiting=0" in synced
    assert statuses == "['labelled', 'labelled', 'abandoned']"
    assert pointers.startswith("('/horizon',)")


def test_the_five_lines(names, capsys):
    """With fewer episodes, so that it takes seconds."""
    program = programs(PAGE)[0].replace("200", "8")
    run(program, names)
    assert re.search(r"100 episodes: success 0\.\d\d \(95 %", capsys.readouterr().out)
    assert names["agent"].view.display["cells"]["goal"] == [15]


@pytest.mark.slow
def test_the_five_lines_word_for_word(names):
    run(programs(PAGE)[0], names)
    assert names["agent"].evaluate(names["env"], episodes=300, seed=0).success > 0.5


def test_the_readme_shows_the_same_lines():
    assert programs(README) == programs(PAGE)[:1]
