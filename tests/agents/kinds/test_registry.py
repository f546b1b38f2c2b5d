"""A new agent kind is one new folder: nothing else is edited, and the contract suite tests it."""

import subprocess
import sys
from pathlib import Path

import pytest

import app
from app.agents import AGENT_KINDS, AgentSpec, make_agent
from app.agents.kinds import DEFAULT_KIND, agent_class
from app.wire.validation import parse

APP = Path(app.__file__).parent
TESTS = APP.parent / "tests"
OPTIONS = '''
from typing import Literal
from pydantic import Field
from app.agents.options import Options

class AlwaysFirstOptions(Options):
    """Options of a kind that a test adds."""

    kind: Literal["always_first"] = Field(default="always_first", description="this kind")
    boldness: int = Field(default=1, description="an option that no other kind has")
'''
AGENT = '''
from app.agents.base import Agent
from app.agents.kinds.always_first.options import AlwaysFirstOptions
from app.planning.policies.uniform import plan_uniform

class AlwaysFirst(Agent[AlwaysFirstOptions]):
    """A kind that a test adds; it acts like the uniform one."""

    def plan(self, episode, mode="learn", pending=(), certify=True):
        return plan_uniform(self.spec.actions, self.allowed)
'''
SCHEMA = """
import json
from app.wire.agents import NewAgent
print(json.dumps(NewAgent.model_json_schema()["$defs"]["AlwaysFirstOptions"]["properties"]))
"""


@pytest.fixture
def extended(tmp_path):
    """A copy of the program, linked file by file, with one more folder among the kinds."""
    for folder in (APP, APP / "agents", APP / "agents" / "kinds"):
        copy = tmp_path / folder.relative_to(APP.parent)
        copy.mkdir()
        for entry in folder.iterdir():
            if entry.name not in ("agents", "kinds"):
                (copy / entry.name).symlink_to(entry)
    kind = tmp_path / "app" / "agents" / "kinds" / "always_first"
    kind.mkdir()
    (kind / "__init__.py").write_text('"""A kind that a test adds."""\n')
    (kind / "options.py").write_text(OPTIONS)
    (kind / "agent.py").write_text(AGENT)
    (tmp_path / "tests").symlink_to(TESTS)
    return tmp_path


def run(folder, *arguments):
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True
    )


def test_its_options_appear_in_the_schema_of_a_new_agent(extended):
    result = run(extended, "-c", SCHEMA)
    assert "an option that no other kind has" in result.stdout, result.stderr


def test_the_contract_suite_runs_over_it(extended):
    suite = "tests/agents/test_contract.py"
    result = run(
        extended, "-m", "pytest", "-q", "-k", "always_first", "-p", "no:cacheprovider", suite
    )
    assert result.returncode == 0, result.stdout[-3000:]
    assert int(result.stdout.split(" passed")[0].split()[-1]) > 20


@pytest.mark.parametrize("kind", sorted(AGENT_KINDS))
def test_a_kind_is_named_like_its_folder(kind):
    data = {"actions": 2, "horizon": 2, "algorithm": {"kind": kind}}
    states = {"observations": {"low": [0.0], "high": [1.0]}}
    data |= states if AGENT_KINDS[kind].observes else {"states": 2}
    agent = make_agent(parse(AgentSpec, data))
    assert type(agent) is agent_class(kind)
    assert type(agent.options) is AGENT_KINDS[kind]
    assert agent.options.kind == kind


def test_the_default_kind_is_one_of_them():
    assert DEFAULT_KIND in AGENT_KINDS
    assert (
        parse(AgentSpec, {"states": 2, "actions": 2, "horizon": 2}).algorithm.kind == DEFAULT_KIND
    )
