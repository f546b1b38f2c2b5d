"""Fewer calls: a start with its first step, an end with its label, many entries in one call."""

import pytest

from tests.support.running import (
    LAKE,
    STATES,
    RunningServer,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

ADMIN_KEY = "a-key-of-sixteen-characters"
UNIFORM = {"algorithm": "uniform", "features": None}


def read(client, episode):
    return client.get(f"/v1/episodes/{episode}").json()


def start(client, agent, key=None, **body):
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(f"/v1/agents/{agent}/episodes", json=body, headers=headers)


def finish(client, episode, **body):
    return client.post(f"/v1/episodes/{episode}/finish", json=body)


def many(client, what, *entries, headers=None):
    path = "/v1/episodes" if what == "episodes" else f"/v1/{what}"
    answer = client.post(path, json={what: list(entries)}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def test_a_start_with_a_state_answers_the_first_step(client):
    together, alone = (create_agent(client, **UNIFORM) for _ in "ab")
    view = start(client, together, state=1).json()
    assert view["length"] == 1
    actions = play(client, start_episode(client, alone), [1])
    assert view["first_step"] == {"step": 0, "action": actions[0], "last": False}
    assert [one["state"] for one in read(client, view["id"])["steps"]] == [1]
    assert start(client, together).json()["first_step"] is None


def test_a_start_with_a_bad_state_starts_nothing(client, agent):
    before = client.get(f"/v1/agents/{agent}").json()["episodes"]
    problem = assert_problem(start(client, agent, state=99), 422, "invalid_value")
    assert problem["errors"][0]["pointer"] == "/state"
    assert client.get(f"/v1/agents/{agent}").json()["episodes"] == before


def test_a_retried_start_takes_its_first_step_once_and_answers_it_again(client, agent):
    first = start(client, agent, "start-1", state=1).json()
    assert start(client, agent, "start-1", state=1).json() == first
    client.post(f"/v1/episodes/{first['id']}/steps", json={"state": 2}).raise_for_status()
    again = start(client, agent, "start-1", state=1).json()
    assert (again["id"], again["first_step"]) == (first["id"], first["first_step"])
    assert [one["state"] for one in read(client, first["id"])["steps"]] == [1, 2]


def test_a_finish_with_a_label_is_an_end_and_a_label(client):
    both, apart = create_agent(client), create_agent(client)
    views = []
    for agent, together in ((both, True), (apart, False)):
        episode = start_episode(client, agent)
        play(client, episode, [0, 1])
        verdict = {"label": 1, "labeller": "Ada", "comment": "clean"}
        answer = finish(client, episode, state=3, **(verdict if together else {}))
        assert answer.status_code == 200
        if not together:
            client.post(f"/v1/episodes/{episode}/label", json=verdict).raise_for_status()
        counts = wait_learned(client, agent)["episodes"]
        assert (counts["running"], counts["awaiting_label"], counts["labelled"]) == (0, 0, 1)
        view = read(client, episode)
        views.append({name: view[name] for name in ("status", "label", "final", "predicted")})
        assert [one["labeller"] for one in view["labels"]] == ["Ada"]
    assert views[0] == views[1]
    assert views[0]["status"] == "labelled"
    versions = [wait_learned(client, agent)["policy_version"] for agent in (both, apart)]
    assert versions[0] == versions[1]  # the end and the label are events of their own


def test_a_label_may_come_with_a_finish_after_the_last_step_and_again(client, agent):
    episode = start_episode(client, agent, wait=False)
    play(client, episode, STATES)
    for _ in range(2):
        assert finish(client, episode, label=1).json()["label"] == 1
    assert len(read(client, episode)["labels"]) == 1
    assert_problem(finish(client, episode, label=0), 409, "already_labelled")


def test_a_finish_that_is_refused_stores_no_label(client, agent):
    episode = start_episode(client, agent, wait=False)
    assert_problem(finish(client, episode, state=99, label=1), 422)
    assert_problem(finish(client, episode, label=2), 422)
    assert_problem(finish(client, episode, labeller="Ada"), 422)
    assert read(client, episode)["status"] == "running"
    finish(client, episode, state=1).raise_for_status()
    assert_problem(finish(client, episode, state=1, label=1), 409, "already_finished")
    assert read(client, episode)["label"] is None


def test_many_starts_are_numbered_in_their_order(client):
    agent = create_agent(client, **UNIFORM)
    entries = [{"agent": agent, "state": 0, "external_id": f"run-{i}"} for i in range(40)]
    entries[20] |= {"state": 99}
    results = many(client, "episodes", *entries)
    problem = results.pop(20)["problem"]
    assert (problem["status"], problem["errors"][0]["pointer"]) == (422, "/state")
    started = [result["result"] for result in results]
    assert [one["number"] for one in started] == list(range(39))
    assert [one["external_id"] for one in started] == [f"run-{i}" for i in range(40) if i != 20]
    assert all(one["first_step"]["step"] == 0 for one in started)


def test_many_starts_with_an_idempotency_key_start_once(client):
    agent = create_agent(client, **UNIFORM)
    entries = [{"agent": agent, "wait": False}, {"agent": "agt_0000000000"}, {"agent": agent}]
    key = {"Idempotency-Key": f"many-{agent}"}
    first, again = (many(client, "episodes", *entries, headers=key) for _ in "ab")
    assert [one["result"]["id"] for one in (first[0], first[2])] == [
        one["result"]["id"] for one in (again[0], again[2])
    ]
    assert again[1]["problem"]["code"] == "not_found"
    assert client.get(f"/v1/agents/{agent}").json()["episodes"]["running"] == 2


def test_many_finishes_and_labels_each_have_a_result_or_a_problem(client, agent):
    one, two = (start_episode(client, agent, wait=False) for _ in "ab")
    results = many(
        client,
        "finishes",
        {"episode": one, "state": 1, "label": 0},
        {"episode": two, "state": 1},
        {"episode": two, "state": 1},
        {"episode": "eps_0000000000_0"},
    )
    assert [result["episode"] for result in results] == [one, two, two, "eps_0000000000_0"]
    assert [result["result"]["status"] for result in results[:2]] == ["labelled", "awaiting_label"]
    assert [result["problem"]["code"] for result in results[2:]] == [
        "already_finished",
        "not_found",
    ]
    results = many(
        client,
        "labels",
        {"episode": two, "label": 1},
        *({"episode": two, "label": x} for x in (1, 0)),
    )
    assert [result["result"]["label"] for result in results[:2]] == [1, 1]
    assert results[2]["problem"]["code"] == "already_labelled"
    assert len(read(client, two)["labels"]) == 1


@pytest.mark.parametrize("what", ["episodes", "finishes", "labels"])
@pytest.mark.parametrize("count", [0, 1001])
def test_a_call_has_one_to_a_thousand_entries(client, what, count):
    entry = {"agent": "agt_0"} if what == "episodes" else {"episode": "eps_0", "label": 1}
    answer = client.post(f"/v1/{what}", json={what: [entry] * count})
    assert assert_problem(answer, 422)["errors"][0]["pointer"] == f"/{what}"


def test_a_key_that_may_not_label_cannot_finish_with_a_label(tmp_path):
    with RunningServer(tmp_path, PLAUDIT_ADMIN_KEY=ADMIN_KEY) as server:
        with server.client(ADMIN_KEY) as admin:
            agent = admin.post("/v1/agents", json=LAKE).json()["id"]
            body = {"name": "arm", "role": "actor"}
            secret = admin.post("/v1/keys", json=body).json()["secret"]
        with server.client(secret) as actor:
            episode = start_episode(actor, agent, wait=False)
            assert_problem(finish(actor, episode, label=1), 403, "forbidden")
            (result,) = many(actor, "finishes", {"episode": episode, "label": 1})
            assert result["problem"]["code"] == "forbidden"
            assert finish(actor, episode).json()["status"] == "awaiting_label"
