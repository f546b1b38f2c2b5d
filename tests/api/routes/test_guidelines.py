"""The question and the guidelines of an agent, their versions, and example episodes."""

import pytest

from tests.support.running import LAKE, assert_problem, create_agent

QUESTION = "Did it reach the flag?"
TEXT = "Good: at the flag.\nBad: anything else. <b>ä</b>"


def versions(client, agent):
    return client.get(f"/v1/agents/{agent}/guidelines").json()["items"]


def labelled(client, agent, label=1):
    episode = client.post(f"/v1/agents/{agent}/episodes", json={"state": 0}).json()["id"]
    client.post(f"/v1/episodes/{episode}/finish", json={"state": 3, "label": label})
    return episode


def test_an_agent_without_a_question_has_version_0(client, agent):
    view = client.get(f"/v1/agents/{agent}").json()
    asked = ("question", "guidelines", "guidelines_version", "examples")
    assert [view[name] for name in asked] == [None, None, 0, {"good": [], "bad": []}]
    assert versions(client, agent) == []


def test_each_change_is_a_version_and_labels_keep_theirs(client):
    agent = create_agent(client, question=QUESTION)
    first = labelled(client, agent)
    changes = {"guidelines": TEXT, "name": "pond"}
    assert client.patch(f"/v1/agents/{agent}", json=changes).json()["guidelines_version"] == 2
    same = {"guidelines": TEXT, "question": QUESTION, "paused": False}
    assert client.patch(f"/v1/agents/{agent}", json=same).json()["guidelines_version"] == 2
    second = labelled(client, agent)
    client.patch(f"/v1/agents/{agent}", json={"question": None})
    listed = versions(client, agent)
    assert [(one["version"], one["question"], one["guidelines"]) for one in listed] == [
        (1, QUESTION, None),
        (2, QUESTION, TEXT),
        (3, None, TEXT),
    ]
    assert client.put(f"/v1/episodes/{second}/label", json={"label": 0}).is_success
    kept = [client.get(f"/v1/episodes/{one}").json()["labels"] for one in (first, second)]
    assert [[change["guidelines_version"] for change in one] for one in kept] == [[1], [2, 3]]
    assert kept[0][0]["seconds"] is None


def test_examples_are_episodes_of_the_agent_that_are_over(client):
    agent, other = create_agent(client), create_agent(client)
    good, bad = labelled(client, agent), labelled(client, agent, 0)
    running = client.post(f"/v1/agents/{agent}/episodes", json={}).json()["id"]
    examples = {"good": [good], "bad": [bad]}
    path = f"/v1/agents/{agent}"
    assert client.patch(path, json={"examples": examples}).json()["examples"] == examples
    for id_, field in ((labelled(client, other), "good"), (running, "bad"), ("eps_x_1", "good")):
        answer = client.patch(path, json={"examples": {field: [id_]}})
        problem = assert_problem(answer, 422)
        assert problem["errors"][0]["pointer"] == f"/examples/{field}/0"
    assert client.get(path).json()["examples"] == examples
    assert client.patch(path, json={"examples": None}).json()["examples"] == {"good": [], "bad": []}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("question", " "),
        ("question", "x" * 301),
        ("question", 3),
        ("guidelines", ""),
        ("guidelines", "x" * 10_001),
        ("guidelines", "a\x00b"),
    ],
)
def test_texts_that_are_none_are_refused(client, field, value):
    problem = assert_problem(client.post("/v1/agents", json=LAKE | {field: value}), 422)
    assert problem["errors"][0]["pointer"] == f"/{field}"
