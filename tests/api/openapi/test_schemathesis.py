"""Every operation under generated requests, good ones and bad ones: only declared answers come."""

import os
import subprocess
import sys

import pytest

from tests.support.running import RunningServer, create_agent, play, start_episode

ADMIN = "a-key-of-sixteen-characters"
# A longer search: PLAUDIT_SCHEMATHESIS_EXAMPLES=200
EXAMPLES = int(os.environ.get("PLAUDIT_SCHEMATHESIS_EXAMPLES", "5"))
# 16 states: the examples of the document fit.
LAKE = {"states": {"kind": "discrete", "n": 16}, "actions": {"kind": "discrete", "n": 4}}

RULES = f"""
[generation]
deterministic = true
max-examples = {EXAMPLES}

[checks.positive_data_acceptance]
# No schema knows which states the agent has: 422 is an answer to what is well formed, too.
expected-statuses = ["2xx", "3xx", "401", "403", "404", "409", "422", "503"]

[[operations]]
include-operation-id = "stream_events"  # it never ends
enabled = false

[[operations]]
include-operation-id = "start_demo"  # the server would play for minutes
enabled = false
"""

# Schemathesis has no serializer for JSON lines.
JSON_LINES = """
import json
import schemathesis

@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with keys on, since what needs one is checked too; it waits for little."""
    folder = tmp_path_factory.mktemp("generated")
    limits = {"PLAUDIT_WAIT_SECONDS": 0.2, "PLAUDIT_MAX_CELLS": 20_000}
    with RunningServer(folder, PLAUDIT_ADMIN_KEY=ADMIN, **limits) as server:
        yield server


@pytest.fixture
def admin(server):
    with server.client(ADMIN) as client:
        yield client


def search(server, folder, phases, pinned=""):
    """Let Schemathesis search; what it prints."""
    rules = folder / "schemathesis.toml"
    rules.write_text(RULES + pinned)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", rules, "run"]
    options = ["--phases", phases, "--checks", "all", "--continue-on-failure", "--no-color"]
    options += ["--workers", "2", "--header", f"Authorization: Bearer {ADMIN}"]
    (folder / "json_lines.py").write_text(JSON_LINES)
    found = subprocess.run(
        [*command, f"{server.url}/openapi.json", *options],
        cwd=folder,
        env=os.environ | {"SCHEMATHESIS_HOOKS": "json_lines", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr[-2_000:]
    with server.client(ADMIN) as client:
        paths = client.get("/openapi.json").json()["paths"].values()
    total = sum(len(methods) for methods in paths)
    assert f"{total - 2} selected / {total} total" in found.stdout
    assert "Traceback" not in server.output
    return found.stdout


def pin(parameter, value, *operations):
    names = ", ".join(f'"{name}"' for name in operations)
    return (
        f"\n[[operations]]\ninclude-operation-id = [{names}]\n"
        f'parameters = {{ "path.{parameter}" = "{value}" }}\n'
    )


def test_generated_requests_get_only_declared_answers(server, admin, tmp_path):
    agent, doomed = (create_agent(admin, **LAKE, horizon=300) for _ in range(2))
    running, finished, ending, given_up = (start_episode(admin, agent) for _ in range(4))
    play(admin, finished, [0, 1, 2])
    admin.post(f"/v1/episodes/{finished}/finish", json={"state": 15}).raise_for_status()
    pinned = (
        pin("agent", doomed, "delete_agent")
        + pin("agent", agent, "start_episode", "import_trajectories", "export_episodes")
        + pin("agent", agent, "read_agent", "change_agent", "read_model", "read_policy")
        + pin("agent", agent, "read_curve")
        + pin("episode", running, "take_step")
        + pin("episode", ending, "finish_episode")
        + pin("episode", given_up, "abandon_episode")
        + pin("episode", finished, "read_episode", "give_label", "replace_label", "withdraw_label")
    )
    search(server, tmp_path, "examples,coverage,fuzzing", pinned)
    # The requests got through to what they are about.
    assert admin.get(f"/v1/episodes/{running}").json()["length"] > 1
    over = ("awaiting_label", "labelled")  # a finish may carry the label
    assert admin.get(f"/v1/episodes/{ending}").json()["status"] in over
    assert admin.get(f"/v1/episodes/{given_up}").json()["status"] == "abandoned"
    assert len(admin.get(f"/v1/episodes/{finished}").json()["labels"]) > 1
    assert admin.get(f"/v1/agents/{doomed}").status_code == 404


def test_what_one_request_made_is_there_for_the_next_until_it_is_deleted(server, tmp_path):
    assert "API Links" in search(server, tmp_path, "stateful")
