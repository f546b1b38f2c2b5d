"""Evaluation: the exploit policy, no label wanted, results kept apart from the model."""

import json

import pytest

from tests.support.running import (
    STATES,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

UNIFORM = {"algorithm": "uniform", "features": None}


def view(client, agent):
    return client.get(f"/v1/agents/{agent}").json()


def read(client, episode):
    return client.get(f"/v1/episodes/{episode}").json()


def evaluate(client, agent, result=None, **body):
    """An evaluation that is over; its id."""
    episode = start_episode(client, agent, mode="evaluate", **body)
    play(client, episode, STATES[:2])
    end = {"state": 3} | ({} if result is None else {"label": result})
    client.post(f"/v1/episodes/{episode}/finish", json=end).raise_for_status()
    return episode


@pytest.fixture
def learner(client):
    """An agent with some labels."""
    agent = create_agent(client)
    for label in (1, 0, 1):
        play(client, start_episode(client, agent), STATES, label)
    wait_learned(client, agent)
    return agent


def test_an_evaluation_wants_no_label_and_never_waits_for_one(client, learner):
    episode = evaluate(client, learner)
    found = read(client, episode)
    assert (found["mode"], found["status"]) == ("evaluate", "completed")
    assert found["label_required"] is False
    assert view(client, learner)["episodes"]["awaiting_label"] == 0
    queue = client.get("/v1/episodes", params={"agent": learner, "order": "informative"}).json()
    assert queue["items"] == []


def test_an_evaluation_plays_the_policy_without_bonuses(client, learner):
    policy = client.get(f"/v1/agents/{learner}/policy", params={"mode": "exploit"}).json()
    episode = start_episode(client, learner, mode="evaluate")
    pinned = client.get(f"/v1/agents/{learner}/policy", params={"episode": episode}).json()
    assert pinned["policy"] == policy["policy"]
    assert pinned["policy_version"] == policy["policy_version"]


def test_its_result_is_kept_apart_from_the_model(client, learner):
    before, model = view(client, learner), client.get(f"/v1/agents/{learner}/model").json()
    curve = client.get(f"/v1/agents/{learner}/learning-curve").json()
    assert before["evaluation"] is None
    episodes = [evaluate(client, learner, result, learn_transitions=False) for result in (1, 1, 0)]
    after = wait_learned(client, learner)
    assert after["learning"] == "idle"
    assert after["success_rate"] == before["success_rate"]
    assert after["policy_version"] == before["policy_version"]
    assert after["episodes"] == before["episodes"] | {"completed": 3}
    assert client.get(f"/v1/agents/{learner}/model").json() == model
    assert client.get(f"/v1/agents/{learner}/learning-curve").json() == curve
    assert [read(client, episode)["label"] for episode in episodes] == [1, 1, 0]
    evaluation = after["evaluation"]
    (version,) = evaluation.pop("versions")
    assert version.pop("policy_version") == before["policy_version"]
    recent = evaluation.pop("recent")
    assert (evaluation["episodes"], evaluation["good"]) == (3, 2)
    assert evaluation["low"] <= evaluation["at_least"] < evaluation["success"] < evaluation["high"]
    assert version == evaluation
    assert recent["success"] == evaluation["success"]
    assert recent["low"] < evaluation["low"]  # it has to hold for all its windows


def test_whether_its_transitions_count_is_the_clients_to_say(client):
    agent = create_agent(client)

    def visits():
        play(client, start_episode(client, agent), STATES, 1)  # learns what is new
        wait_learned(client, agent)
        return sum(map(sum, client.get(f"/v1/agents/{agent}/model").json()["visits"]))

    first = visits()
    evaluate(client, agent, 1)
    second = visits()
    evaluate(client, agent, 0, learn_transitions=False)
    third = visits()
    assert second - first == len(STATES) + 2
    assert third - second == len(STATES)


def test_the_state_after_the_last_step_may_be_told_and_an_evaluation_given_up(client, learner):
    for learn in (True, False):
        told = start_episode(client, learner, mode="evaluate", learn_transitions=learn)
        play(client, told, STATES)
        answer = client.post(f"/v1/episodes/{told}/finish", json={"state": 2, "label": 1})
        assert (answer.json()["status"], answer.json()["label"]) == ("completed", 1)
        left = start_episode(client, learner, mode="evaluate", learn_transitions=learn)
        play(client, left, STATES[:1])
        client.post(f"/v1/episodes/{left}/abandon").raise_for_status()
    play(client, start_episode(client, learner), STATES, 1)
    assert wait_learned(client, learner)["learning"] == "idle"
    assert view(client, learner)["evaluation"]["episodes"] == 2


def test_a_result_is_replaced_and_withdrawn_like_a_label(client, learner):
    before = view(client, learner)
    episode = evaluate(client, learner, 1)
    path = f"/v1/episodes/{episode}/label"
    assert_problem(client.post(path, json={"label": 0}), 409, "already_labelled")
    assert client.put(path, json={"label": 0}).json()["status"] == "completed"
    assert view(client, learner)["evaluation"]["good"] == 0
    answer = client.delete(path).json()
    assert (answer["label"], answer["status"]) == (None, "completed")
    after = view(client, learner)
    assert after["evaluation"] is None
    assert after["episodes"] == before["episodes"] | {"completed": 1}
    assert after["success_rate"] == before["success_rate"]


def test_evaluations_of_versions_are_told_apart(client, learner):
    evaluate(client, learner, 1)
    first = view(client, learner)["policy_version"]
    play(client, start_episode(client, learner), STATES, 1)
    second = wait_learned(client, learner)["policy_version"]
    assert second > first
    evaluate(client, learner, 0)
    versions = view(client, learner)["evaluation"]["versions"]
    assert [(one["policy_version"], one["success"]) for one in versions] == [
        (second, 0.0),
        (first, 1.0),
    ]


@pytest.mark.parametrize(
    ("body", "pointer", "words"),
    [
        ({"mode": "test"}, "/mode", "'learn', 'exploit' or 'evaluate'"),
        ({"mode": "evaluate", "labels_wanted": 2}, "/labels_wanted", "wants no label"),
        ({"learn_transitions": False}, "/learn_transitions", 'the mode "evaluate"'),
        ({"mode": "exploit", "learn_transitions": False}, "/learn_transitions", "evaluate"),
        ({"mode": "evaluate", "learn_transitions": 0}, "/learn_transitions", "true or false"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(client, learner, body, pointer, words):
    before = view(client, learner)["episodes"]
    answer = client.post(f"/v1/agents/{learner}/episodes", json=body)
    problem = assert_problem(answer, 422, "invalid_value")
    assert problem["errors"][0]["pointer"] == pointer
    assert words in problem["detail"]
    assert view(client, learner)["episodes"] == before


def test_many_starts_may_evaluate(client):
    agent = create_agent(client, **UNIFORM)
    entry = {"agent": agent, "mode": "evaluate", "state": 0, "learn_transitions": False}
    results = client.post("/v1/episodes", json={"episodes": [entry] * 3}).json()["results"]
    assert {one["result"]["mode"] for one in results} == {"evaluate"}


def test_an_export_with_evaluations_can_be_imported(client, learner):
    evaluate(client, learner, 1)
    evaluate(client, learner, 0, learn_transitions=False)
    lines = client.get(f"/v1/agents/{learner}/export").text.splitlines()
    copy = create_agent(client)
    body = {"trajectories": [json.loads(line) for line in lines]}
    answer = client.post(f"/v1/agents/{copy}/trajectories", json=body)
    assert answer.status_code == 201, answer.text
    found = wait_learned(client, copy)
    assert found["success_rate"] == view(client, learner)["success_rate"]
    assert found["episodes"]["completed"] == 2
    assert found["evaluation"] is None  # other policies played them
    again = client.get(f"/v1/agents/{copy}/export").text.splitlines()
    kept = ("mode", "learn_transitions", "label", "status", "states")
    before, after = (
        [{name: json.loads(line)[name] for name in kept} for line in some[-2:]]
        for some in (lines, again)
    )
    assert before == after
    evaluate(client, learner)  # so that the agent learns what the import left
    models = [client.get(f"/v1/agents/{agent}/model").json() for agent in (learner, copy)]
    assert models[1]["weights"] == pytest.approx(models[0]["weights"], abs=1e-6)


def test_a_list_of_agents_shows_evaluations(client, learner):
    evaluate(client, learner, 1)
    items = client.get("/v1/agents", params={"limit": 500}).json()["items"]
    found = {item["id"]: item["evaluation"] for item in items}
    assert found[learner] == view(client, learner)["evaluation"]


def test_the_page_says_what_is_sure(client, learner):
    for _ in range(6):
        evaluate(client, learner, 1)
    page = client.get(f"/agents/{learner}", headers={"Accept": "text/html"}).text
    bound = view(client, learner)["evaluation"]["recent"]["at_least"]
    assert f"with 95&nbsp;% confidence at least {100 * bound:.0f}\N{NO-BREAK SPACE}%" in page
    assert 'id="evaluation"' in page
