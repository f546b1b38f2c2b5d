"""What the README and the tour of the interface show works as it stands."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.running import RunningServer
from tests.support.system import need
from tests.support.tour import read_answers, shown_answers, walk

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
TOUR = (ROOT / "docs/api.md").read_text()
HERE = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("readme")) as server:
        yield server


def shell(text, server):
    """The answers to commands as somebody would paste them, with the server where it is here."""
    need("curl")
    run = subprocess.run(
        ["sh", "-euc", text.replace(HERE, server.url)], capture_output=True, text=True, timeout=200
    )
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def blocks(page):
    return re.findall(r"```sh\n(.*?)```", page, re.DOTALL)


def test_its_commands_play_and_label_an_episode(server):
    _, text = blocks(README)
    assert len(text.splitlines()) <= 11
    first, second, over, labelled, agent = read_answers(shell(text, server))
    assert [first["step"], second["step"]] == [0, 1]
    assert {first["action"], second["action"]} <= {0, 1, 2, 3}
    assert (over["status"], labelled["status"]) == ("awaiting_label", "labelled")
    assert agent["episodes"]["labelled"] == 1
    assert agent["success_rate"] == 1.0


def test_the_tour_can_be_walked(server):
    """From top to bottom; the one answer that is a problem is the one that it shows as such.

    The page shows the answers. `python -m tests.support.tour` writes them anew.
    """
    need("curl")
    by_block = walk(TOUR, server.url)
    for shown, answered in zip(shown_answers(TOUR), by_block, strict=True):
        assert len(shown) == len(answered)
        for page, real in zip(shown, answered, strict=True):
            assert page.keys() == real.keys()
    answers = [answer for block in by_block for answer in block]
    problems = [answer for answer in answers if "code" in answer]
    assert [answer["code"] for answer in problems] == ["invalid_value"]
    assert problems[0]["errors"]
    assert len(answers) > 12
    by_many = next(answer for answer in answers if "results" in answer)
    assert by_many["results"][0]["action"] in ("left", "right")
    read = [answer for answer in answers if "steps" in answer and "labels" in answer]
    assert [answer["label"] for answer in read] == [1, 0]


def test_the_tour_names_every_problem():
    """Every code in the sources is in its table, and the other way round."""
    sources = "".join(path.read_text() for path in (ROOT / "app").rglob("*.py"))
    raised = set(re.findall(r'Conflict\(\s*"(\w+)"', sources))
    given = set(re.findall(r'\bproblem\(\s*\d+, "(\w+)"', sources))
    mapped = set(re.findall(r'\(\d+, "(\w+)", "', (ROOT / "app/api/http/problems.py").read_text()))
    titled = set(re.findall(r'\d+: \("(\w+)", "', (ROOT / "app/api/http/problems.py").read_text()))
    table = TOUR[TOUR.index("## Problems") :]
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| \d+ \| (.*?) \|", table, re.M))))
    # Every conflict says which one it is.
    assert named == (raised | given | mapped | titled) - {"conflict"}


def test_its_commands_are_targets():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = set(re.findall(r"^make ([a-z]+)", README, re.MULTILINE))
    assert commands == {"run", "test"}
    assert commands <= targets


def test_its_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) >= 4
    assert [link for link in links if not (ROOT / link).exists()] == []
