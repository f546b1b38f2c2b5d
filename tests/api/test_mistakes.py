"""Mistakes that people make, each with the sentence that a person would answer with."""

import json
import subprocess
import sys

import pytest

from tests.support.running import create_agent, play, start_episode

AGENT = {"name": "lake", "states": 4, "actions": 2, "horizon": 5}
BOX = {"kind": "box", "low": [0, 0], "high": [1, 1], "bins": [3, 3]}
KINDS = "'reinforce', 'smooth', 'thompson', 'ucbvi', 'ucbvi_exact', 'ucbvi_explore', 'uniform'"
STATE = "a whole number, a name or a list of numbers, as `states` of the agent says"
LABEL = '1 or true for good, 0 or false for bad, or "cannot_tell" with a reason'
SPACE = "a number of states such as 16, or an object with the kind discrete, labels or box"
DURATION = 'an ISO 8601 duration in quotes, such as "PT30M" or "P2D", at most ten years'


@pytest.fixture(scope="module")
def places(shared_server):
    """The ids that the paths of the table name."""
    with shared_server.client() as client:
        lake, box = create_agent(client), create_agent(client, states=BOX, features=None)
        over = start_episode(client, lake, wait=False)
        play(client, over, [0, 1, 2, 3, 3])
        running = start_episode(client, lake, wait=False)
        boxed = start_episode(client, box, wait=False)
    return {"agent": lake, "over": over, "running": running, "boxed": boxed}


def agent(**changes):
    return "POST /v1/agents", AGENT | changes


def step(**body):
    return "POST /v1/episodes/{running}/steps", body


def boxed(state):
    return "POST /v1/episodes/{boxed}/steps", {"state": state}


def label(value):
    return "POST /v1/episodes/{over}/label", {"label": value}


MISTAKES = [
    # what was sent, the status, the sentence
    (step(state=9), 422, "state: expected a whole number from 0 to 3, got 9"),
    (step(state="1"), 422, 'state: expected a whole number from 0 to 3, got "1"'),
    (step(state=1.5), 422, f"state: expected {STATE}, got 1.5"),
    (step(state=None), 422, f"state: expected {STATE}, got null"),
    (step(), 422, "state: expected a value; it is missing"),
    (step(state=1, step="0"), 422, 'step: expected a whole number, got "0"'),
    (step(state=1, step=7), 409, "The next step is 0, not 7."),
    (boxed([float("nan"), 1.0]), 422, "state.0: expected a finite number, got NaN"),
    (boxed(1), 422, "state: expected a list of 2 finite numbers, got 1"),
    (boxed([0.5]), 422, "state: expected a list of 2 finite numbers, got a list of 1"),
    (boxed(["a", "b"]), 422, 'state.0: expected a number, got "a"'),
    (label(2), 422, f"label: expected {LABEL}, got 2"),
    (label("good"), 422, f'label: expected {LABEL}, got "good"'),
    (
        label("cannot_tell"),
        422,
        "body: expected a reason with the label cannot_tell, such as 'the camera was covered'",
    ),
    (
        ("POST /v1/episodes/{running}/label", {"label": 1}),
        409,
        "The episode is still running. Finish it before labelling it.",
    ),
    (
        ("POST /v1/episodes/{over}/steps", {"state": 1}),
        409,
        "The episode is over: it is awaiting_label.",
    ),
    (agent(label_timeout=5), 422, f"label_timeout: expected {DURATION}, got 5"),
    (
        agent(running_timeout="5 minutes"),
        422,
        "running_timeout: expected an ISO 8601 duration such as PT30M or P2D, at most ten years",
    ),
    (agent(horizon=0), 422, "horizon: expected a number greater than or equal to 1, got 0"),
    (agent(horizon="5"), 422, 'horizon: expected a whole number, got "5"'),
    (agent(states="16"), 422, f'states: expected {SPACE}, got "16"'),
    (agent(states=["a", "b"]), 422, f"states: expected {SPACE}, got a list"),
    (
        agent(states={"kind": "grid"}),
        422,
        "states.kind: expected one of 'discrete', 'labels', 'box', got \"grid\"",
    ),
    (
        agent(states={"kind": "box", "low": [0], "high": [1], "bins": 3}),
        422,
        "states.bins: expected a list, […], got 3",
    ),
    (agent(algorithm="dqn"), 422, f'algorithm: expected one of {KINDS}, got "dqn"'),
    (agent(wait="yes"), 422, 'wait: expected true, false or "adaptive", got "yes"'),
    (agent(default_label=2), 422, "default_label: expected 0 or 1, got 2"),
    (agent(features="one_hot"), 422, 'features: expected an object, {…}, got "one_hot"'),
    (
        ("POST /v1/agents/{agent}/episodes", {"mode": "test"}),
        422,
        "mode: expected 'learn', 'exploit' or 'evaluate', got \"test\"",
    ),
    (("POST /v1/agents", None), 422, "body: expected a JSON object; the request has no body"),
    (("POST /v1/agents", [AGENT]), 422, "body: expected an object, {…}, got a list"),
    (("POST /agents", AGENT), 404, "No route for '/agents'. Did you mean '/v1/agents'?"),
    (("POST /v1/agents/", AGENT), 404, "No route for '/v1/agents/'. Did you mean '/v1/agents'?"),
    (
        ("GET /v2/agents", None),
        404,
        "No route for '/v2/agents'. Paths begin with /v1; /docs lists them.",
    ),
    (
        ("GET /v1/episodes/{over}/steps", None),
        405,
        "This path does not take GET. It takes POST.",
    ),
    (("GET /v1/agents/lake", None), 404, "No agent with id 'lake'."),
    (("GET /v1/agents?limit=all", None), 422, 'limit: expected a whole number, got "all"'),
    (
        ("GET /v1/episodes?statu=running", None),
        422,
        "?statu: expected one of agent, cursor, external_id, limit, order, status; "
        "this one is unknown",
    ),
    (
        (
            "POST /v1/agents/{agent}/trajectories",
            {"trajectories": [{"states": [], "actions": [0]}]},
        ),
        422,
        "trajectories.0.states: expected as many as actions, or one more",
    ),
]


@pytest.mark.parametrize(("request_", "status", "sentence"), MISTAKES)
def test_a_mistake_is_answered_with_a_sentence(client, places, request_, status, sentence):
    (line, body) = request_
    method, path = line.format(**places).split(" ")
    content = None if body is None else json.dumps(body)
    headers = {} if body is None else {"Content-Type": "application/json"}
    answer = client.request(method, path, content=content, headers=headers)
    problem = answer.json()
    assert (answer.status_code, problem["detail"]) == (status, sentence)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status


def test_a_wrong_content_type_is_415(client):
    for headers, given in [
        ({"Content-Type": "text/plain"}, "got 'text/plain'"),
        ({}, "the header is missing"),
    ]:
        answer = client.post("/v1/agents", content=json.dumps(AGENT), headers=headers)
        assert answer.status_code == 415
        assert answer.json()["detail"] == f"Content-Type: expected application/json, {given}."


def test_python_for_json_is_called_by_its_name(client):
    answer = client.post(
        "/v1/agents", content="{'name': 1}", headers={"Content-Type": "application/json"}
    )
    assert answer.json()["code"] == "invalid_json"
    assert answer.json()["detail"].startswith("The body is not valid JSON: ")


def test_a_short_admin_key_is_refused_at_start(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "app.cli", "serve"],
        env={"PLAUDIT_ADMIN_KEY": "short", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert run.returncode != 0
    words = " ".join((run.stdout + run.stderr).split())
    assert "PLAUDIT_ADMIN_KEY: expected at least 16 characters, got 5" in words
    assert "Traceback" not in words
