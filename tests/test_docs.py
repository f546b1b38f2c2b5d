"""What the pages of docs/ say is so."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from app.agents import AgentSpec, make_agent
from app.learning import randomness
from app.learning.trajectory import Trajectory
from app.learning.world.model import TransitionModel
from app.planning.policies.mixture import MixturePolicy
from app.planning.policies.registry import POLICY_KINDS
from app.planning.policies.tracked import TrackedPolicy
from app.planning.problem import PlanningProblem
from app.planning.reference.paper import plan_paper
from app.settings import settings_table
from app.wire.validation import parse
from benchmarks.exact import plan_exact
from tests.planning.policies.test_net_policy import policy_of

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))


def page(name):
    return (ROOT / "docs" / name).read_text()


def test_every_setting_is_on_its_page():
    """`python -m app.settings` prints the table anew."""
    assert settings_table() in page("settings.md")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    prose = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", prose) if ":" not in link]
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_files_that_a_page_names_exist(path):
    names = re.findall(
        r"`((?:app|alembic|benchmarks|client|examples|tests)/[\w./-]*)", path.read_text()
    )
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_the_map_of_the_architecture_has_every_folder_and_names_that_exist():
    text = (ROOT / "docs" / "architecture.md").read_text()
    folders = [path.parent for path in (ROOT / "app").glob("*/__init__.py")]
    assert [name for name in folders if f"`app/{name.name}" not in text] == []
    rooms = [path.parent.name for path in (ROOT / "app" / "service").glob("*/__init__.py")]
    assert [name for name in rooms if f"`- {name}`" not in text] == []
    source = "\n".join(path.read_text() for path in (ROOT / "app").rglob("*.py"))
    names = set(re.findall(r"`([A-Z]\w*[a-z]\w*)`", text))
    missing = [
        name for name in names if not re.search(rf"\bclass {name}\b|^{name}\b", source, re.M)
    ]
    assert missing == []


def test_the_program_on_the_library_page_learns():
    (program,) = re.findall(r"```python\n(.*?)```", page("library.md"), re.DOTALL)
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, cwd=ROOT
    )
    assert run.returncode == 0, run.stderr
    # Going right twice in a row at the end is all it takes, and thirty verdicts show it.
    assert 0.8 < float(run.stdout) <= 1.0


@pytest.fixture(scope="module")
def program():
    """The names that the program on the page of policies defines."""
    (source,) = re.findall(r"```python\n(.*?)```", page("policy.md"), re.DOTALL)
    names = {}
    exec(compile(source, "policy.md", "exec"), names)
    return names


class TestThePolicyPage:
    """Its program acts as the server does, whatever the kind of policy."""

    def test_its_numbers_are_ours(self, program):
        row = re.compile(r"^\| (\d+) \| (\d+) \| (\d+) \| `(0x\w+)` \| ([\d.]+) \|$", re.MULTILINE)
        rows = row.findall(page("policy.md"))
        assert len(rows) >= 6
        for seed, episode, step, bits, number in rows:
            address, mix = (int(seed), int(episode), int(step)), randomness.mix
            assert hex(mix(mix(mix(address[0]) ^ address[1]) ^ address[2])) == bits
            assert randomness.uniform(*address) == float(number)
            assert program["uniform"](*address) == float(number)

    @pytest.mark.parametrize("kind", sorted(POLICY_KINDS))
    def test_it_acts_as_we_do(self, program, kind):
        policy = POLICIES[kind]()
        assert policy.kind == kind
        arrays = {name: array.tolist() for name, array in policy.arrays().items()}
        document = json.loads(json.dumps({"kind": kind, **arrays}))
        taken = set()
        for episode in range(200):
            ours, theirs = (), None
            for step in range(HORIZON):
                state = int(randomness.uniform(1, episode, step) * STATES)
                if kind == "network":
                    state = (state - 0.7,)
                if kind == "net":
                    state = (state - 0.7, randomness.uniform(3, episode, step))
                luck = randomness.uniform(2, episode, step)
                action, ours = policy.act(step, state, ours, luck)
                other, theirs = program["act"](document, step, state, theirs, luck)
                assert other == action
                taken.add(action)
        assert len(taken) > 1


STATES, ACTIONS, HORIZON = 3, 2, 4


def learned(**algorithm):
    """The policy of an agent that has seen a few episodes."""
    spec = {"states": STATES, "actions": ACTIONS, "horizon": HORIZON, "algorithm": algorithm}
    agent = make_agent(parse(AgentSpec, spec))
    rng = np.random.default_rng(5)
    for episode in range(12):
        states, actions = rng.integers(0, STATES, HORIZON), rng.integers(0, ACTIONS, HORIZON)
        agent.finish(episode, Trajectory(states, actions))
        agent.label(episode, int(states[2] == actions[1]))
    return agent.plan(12).policy


def network():
    """The policy of an agent that sees one number."""
    spec = {
        "observations": {"low": [0.0], "high": [2.0]},
        "actions": ACTIONS,
        "horizon": HORIZON,
        "algorithm": {"kind": "reinforce", "output_scale": 3.0},
    }
    return make_agent(parse(AgentSpec, spec)).plan(0).policy


def problem():
    """A problem in which one transition of each pair is held impossible."""
    rng = np.random.default_rng(4)
    matrix = np.zeros((STATES * ACTIONS, 2 * STATES + 1))
    for row in matrix:
        row[rng.choice(STATES, 2, replace=False)] = 0.5
    weights = rng.normal(size=(HORIZON, STATES, ACTIONS))
    return PlanningProblem(
        start=np.full(STATES, 1 / STATES),
        transitions=TransitionModel.from_dense(matrix, STATES, ACTIONS),
        weights=weights,
        bonuses=0.0 * weights,
        ended_weights=np.zeros((HORIZON + 1, STATES + 1)),
        offset=0.3,
    )


def tracked():
    """The policy of an agent behind an automaton that remembers one bit."""
    rng = np.random.default_rng(6)
    entered = rng.integers(0, STATES, (2, STATES)).astype(np.int32)
    memories = np.array([[0, 1], [1, 1], [1, 0]], np.int32)
    return TrackedPolicy(entered, memories, learned(kind="ucbvi"))


def mixture():
    """The policy of an agent that explores in half of its episodes."""
    tables = np.random.default_rng(7).integers(0, ACTIONS, (3, HORIZON, STATES))
    return MixturePolicy(0.5, ACTIONS, tables, learned(kind="ucbvi"))


POLICIES = {
    "mixture": mixture,
    "markov": lambda: learned(kind="ucbvi_explore", n_euler=20),
    "net": lambda: policy_of(first=2)[0],
    "network": network,
    "tracked": tracked,
    "uniform": lambda: learned(kind="uniform"),
    "grid": lambda: learned(kind="thompson"),
    "reward": lambda: learned(kind="ucbvi", optimism="reward"),
    "history": lambda: plan_exact(problem()).policy,
    "paper": lambda: plan_paper(problem(), epsilon=30.0).policy,
}


@pytest.mark.parametrize("name", ["reinforce.md", "numbers.md"])
def test_the_specifications_on_a_page_are_accepted(client, name):
    specifications = re.findall(r"```json\n(.*?)```", page(name), re.DOTALL)
    agents = [one for one in map(json.loads, specifications) if "horizon" in one]
    assert agents or name != "reinforce.md"
    for agent in agents:
        answer = client.post("/v1/agents", json={"name": name} | agent)
        assert answer.status_code == 201, answer.text
