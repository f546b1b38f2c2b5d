"""For simulators and fleets: many steps in one call, logged episodes in and out."""

import json

import pytest

from app.agents.base import MODEL_TOLERANCE
from tests.support.running import (
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

STATES = [0, 1, 2, 3, 3]
ROOMS = ["kitchen", "hall", "attic", "cellar"]
SPACES = {
    "discrete": ({}, [0, 1, 2, 3]),
    "labels": (
        {
            "states": {"kind": "labels", "values": ROOMS},
            "actions": {"kind": "labels", "values": ["stay", "go"]},
        },
        ROOMS,
    ),
    "box": (
        {"states": {"kind": "box", "low": [0.0], "high": [4.0], "bins": [4]}},
        [[0.125], [1.25], [2.5], [3.75]],
    ),
}


def step_many(client, *entries):
    body = {"steps": [dict(zip(("episode", "state", "step"), e, strict=False)) for e in entries]}
    answer = client.post("/v1/steps", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def take_in(client, agent, *trajectories):
    return client.post(
        f"/v1/agents/{agent}/trajectories", json={"trajectories": list(trajectories)}
    )


def read(client, episode):
    return client.get(f"/v1/episodes/{episode}").json()


def export(client, agent):
    answer = client.get(f"/v1/agents/{agent}/export")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def model(client, agent):
    """What an agent believes, without what names it."""
    assert wait_learned(client, agent)["learning_error"] is None
    found = client.get(f"/v1/agents/{agent}/model").json()
    return {name: found[name] for name in set(found) - {"agent", "policy_version"}}


def assert_same_model(found, expected):
    for name in ("weights", "intercept", "start"):
        assert found[name] == pytest.approx(expected[name], abs=MODEL_TOLERANCE)
    for name in ("features", "visits", "transitions"):
        assert found[name] == expected[name]


def test_many_episodes_are_stepped_in_one_call_as_they_are_one_by_one(client):
    # Uniform actions depend on the seed, the episode and the step, and on nothing learned.
    changes = {"algorithm": {"kind": "uniform"}, "features": None}
    together, alone = (create_agent(client, **changes) for _ in "ab")
    many = [start_episode(client, together, wait=False) for _ in range(4)]
    single = [start_episode(client, alone, wait=False) for _ in range(4)]
    for step, state in enumerate(STATES):
        results = step_many(client, *((episode, state, step) for episode in many))
        assert [result["episode"] for result in results] == many
        assert all(set(result) == {"episode", "step", "action", "last"} for result in results)
        assert {(result["step"], result["last"]) for result in results} == {(step, step == 4)}
    for episode, twin in zip(many, single, strict=True):
        view = read(client, episode)
        assert view["status"] == "awaiting_label"
        assert [one["action"] for one in view["steps"]] == play(client, twin, STATES)
    assert [result["problem"]["code"] for result in step_many(client, (many[0], 0))] == [
        "episode_over"
    ]


def test_each_entry_has_its_own_result_or_problem(client):
    agent = create_agent(client)
    first, second, third, over = (start_episode(client, agent, wait=False) for _ in range(4))
    play(client, over, STATES)
    results = step_many(
        client,
        (first, 0, 0),
        ("eps_0000000000_0", 0),
        (second, 99),
        (third, 1, 3),
        ("nonsense", 0),
        (over, 0),
        (first, 1, 1),
        (second, 2),
    )
    statuses = [result.get("problem", {}).get("status", 200) for result in results]
    assert statuses == [200, 404, 422, 409, 404, 409, 200, 200]
    assert [result.get("step") for result in results] == [0, None, None, None, None, None, 1, 0]
    codes = [result["problem"]["code"] for result in results if "problem" in result]
    assert codes == ["not_found", "invalid_value", "step_out_of_order", "not_found", "episode_over"]
    problem = results[2]["problem"]
    assert problem["errors"][0]["pointer"].endswith("/state")
    assert [one["state"] for one in read(client, first)["steps"]] == [0, 1]
    assert read(client, third)["length"] == 0


def test_one_episode_twice_in_one_call_takes_two_steps_in_order(client):
    agent = create_agent(client)
    episode = start_episode(client, agent, wait=False)
    results = step_many(client, (episode, 0, 0), (episode, 1, 1), (episode, 1, 1), (episode, 2))
    assert [result["step"] for result in results] == [0, 1, 1, 2]
    assert results[1]["action"] == results[2]["action"]
    assert [one["state"] for one in read(client, episode)["steps"]] == [0, 1, 2]


def test_a_retry_of_a_whole_call_changes_nothing(client):
    agent = create_agent(client)
    entries = [(start_episode(client, agent, wait=False), 3, 0) for _ in range(3)]
    assert step_many(client, *entries) == step_many(client, *entries)
    assert {read(client, episode)["length"] for episode, _, _ in entries} == {1}


@pytest.mark.parametrize("count", [0, 1001])
def test_a_call_has_one_to_a_thousand_steps(client, count):
    body = {"steps": [{"episode": "eps_0000000000_0", "state": 0}] * count}
    problem = assert_problem(client.post("/v1/steps", json=body), 422)
    assert problem["errors"][0]["pointer"] == "/steps"


def test_logged_episodes_are_learned_from_once(client):
    agent = create_agent(client)
    wait_learned(client, agent)
    curve = f"/v1/agents/{agent}/learning-curve"
    before = len(client.get(curve).json()["policies"])
    logged = [{"states": STATES, "actions": [i % 2] * 5, "label": i % 2} for i in range(20)]
    answer = take_in(client, agent, *logged, {"states": STATES, "actions": [0] * 5})
    assert answer.status_code == 201
    body = answer.json()
    assert (body["agent"], body["imported"]) == (agent, 21)
    assert body["learning"] in ("queued", "running")
    view = wait_learned(client, agent)
    assert (view["episodes"]["labelled"], view["episodes"]["awaiting_label"]) == (20, 1)
    assert view["success_rate"] == 0.5
    assert len(client.get(curve).json()["policies"]) == before + 1
    first, last = read(client, body["first"]), read(client, body["last"])
    assert (first["number"], first["label"], first["mode"]) == (0, 0, "imported")
    assert (last["number"], last["label"], last["status"]) == (20, None, "awaiting_label")


@pytest.mark.parametrize(
    ("bad", "pointer"),
    [
        ({"states": [0, 9], "actions": [0]}, "/trajectories/1/states/1"),
        ({"states": [0], "actions": [2]}, "/trajectories/1/actions/0"),
        ({"states": [0, 1, 2], "actions": [0]}, "/trajectories/1/states"),
        ({"states": [0], "actions": [0, 1]}, "/trajectories/1/states"),
        ({"states": [0] * 6, "actions": [0] * 6}, "/trajectories/1/actions"),
        ({"states": [0], "actions": [0], "label": 2}, "/trajectories/1/label"),
        ({"states": [0], "actions": [0], "label": "1"}, "/trajectories/1/label"),
        ({"states": [0], "actions": [True]}, "/trajectories/1/actions/0"),
        ({"actions": [0]}, "/trajectories/1/states"),
        (
            {"states": [0], "actions": [0], "label": 1, "status": "completed"},
            "/trajectories/1/status",
        ),
    ],
)
def test_all_are_taken_or_none(client, quiet, bad, pointer):
    good = {"states": STATES, "actions": [0] * 5, "label": 1}
    problem = assert_problem(take_in(client, quiet, good, bad), 422)
    assert problem["errors"][0]["pointer"] == pointer
    assert sum(client.get(f"/v1/agents/{quiet}").json()["episodes"].values()) == 0


@pytest.fixture(scope="module")
def quiet(shared_server):
    with shared_server.client() as client:
        return create_agent(client)


def test_one_more_state_than_actions_is_where_it_ended(client):
    agent = create_agent(client)
    body = take_in(
        client,
        agent,
        {"states": [0, 1, 2], "actions": [0, 1], "label": 1},
        {"states": [0, 1], "actions": [0, 1], "label": 0},
        {"states": [0, 1, 2, 3, 3, 2], "actions": [0, 1, 0, 0, 0], "label": 0},
        {"states": [0, 1, 2], "actions": [0, 1], "terminated": False, "label": 0},
    ).json()
    base = body["first"].rpartition("_")[0]
    views = [read(client, f"{base}_{i}") for i in range(4)]
    ends = [(view["length"], view["final"], view["terminated"]) for view in views]
    assert ends == [(2, 2, True), (2, None, True), (5, 2, False), (2, 2, False)]
    rows = {(row["state"], row["action"]): row for row in model(client, agent)["transitions"]}
    after = {(f["state"], f["ended"]): f["probability"] for f in rows[1, 1]["followers"]}
    assert after == {(2, True): 0.25, (None, True): 0.25, (2, False): 0.5}


def live_every_way(client, agent, states):
    """Episodes with every kind of end and of label."""
    s = states

    def episode(*sent):
        started = start_episode(client, agent, wait=False)
        play(client, started, sent)
        return started

    def finish(one, **body):
        assert client.post(f"/v1/episodes/{one}/finish", json=body).status_code == 200

    whole = [s[i] for i in STATES]
    play(client, start_episode(client, agent, external_id="a", metadata={"k": 1}), whole, label=1)
    reported, ended, nowhere, cut = (episode(*whole), *(episode(s[0], s[1]) for _ in range(3)))
    finish(reported, state=s[2])
    finish(ended, state=s[3])
    finish(nowhere)
    finish(cut, state=s[2], terminated=False)
    for one, label in ((reported, 0), (ended, 1), (nowhere, 0), (cut, 1)):
        client.post(f"/v1/episodes/{one}/label", json={"label": label})
    given_up, left, waiting, _running = (episode(s[3], s[2]) for _ in range(4))
    finish(given_up, state=s[0])
    for one in (given_up, left):
        assert client.post(f"/v1/episodes/{one}/abandon").status_code == 200
    finish(waiting, state=s[1])
    take_in(
        client,
        agent,
        {"states": [s[1]] * 5, "actions": [action_of(client, reported)] * 5, "status": "completed"},
    )


def action_of(client, episode):
    return read(client, episode)["steps"][0]["action"]


@pytest.mark.parametrize("space", SPACES)
def test_an_export_taken_in_again_gives_the_same_model(client, space):
    changes, states = SPACES[space]
    first, second = create_agent(client, **changes), create_agent(client, **changes)
    live_every_way(client, first, states)
    wait_learned(client, first)
    lines = export(client, first)
    assert [line["number"] for line in lines] == [0, 1, 2, 3, 4, 5, 6, 7, 9]  # 8 still runs
    assert lines[0]["external_id"] == "a"
    assert lines[0]["metadata"] == {"k": 1}
    assert lines[0]["states"] == [states[i] for i in STATES]
    assert lines[1]["states"] == [states[i] for i in [*STATES, 2]]
    known = {"discrete": {0, 1}, "labels": {"stay", "go"}, "box": {0, 1}}[space]
    assert all(set(line["actions"]) <= known for line in lines)
    assert take_in(client, second, *lines).status_code == 201
    # What only a further episode brings in is the same for both.
    closing = {"states": [states[0]] * 5, "actions": lines[0]["actions"], "label": 0}
    for agent in (first, second):
        wait_learned(client, agent)
        take_in(client, agent, closing)
    assert_same_model(model(client, second), model(client, first))
    counts = [client.get(f"/v1/agents/{agent}").json()["episodes"] for agent in (first, second)]
    assert counts[0] == counts[1] | {"running": 1}

    def plain(line):
        return {name: line[name] for name in ("states", "actions", "label", "terminated", "status")}

    assert [plain(line) for line in export(client, second)] == [
        plain(line) for line in export(client, first)
    ]


def test_an_agent_without_episodes_exports_nothing(client):
    assert export(client, create_agent(client)) == []
