"""Policy versions: listed with what they knew and showed, pinned, and rebuilt from the log."""

import time

import pytest

from app.service.runtime.ids import read_agent_id
from tests.support.databases import execute
from tests.support.running import (
    STATES,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)


def view(client, agent):
    return client.get(f"/v1/agents/{agent}").json()


def versions(client, agent, **query):
    return client.get(f"/v1/agents/{agent}/policies", params=query).json()


def policy(client, agent, mode="exploit"):
    """The document of a policy, without what changes with the episode."""
    found = client.get(f"/v1/agents/{agent}/policy", params={"mode": mode}).json()
    return {name: found[name] for name in ("policy_version", "policy")}


def assert_alike(rebuilt, before):
    """The same version and kind of tables; weights are the same up to rounding, so that one of two
    actions that are equally good may have been chosen."""
    assert rebuilt["policy_version"] == before["policy_version"]
    assert rebuilt["policy"]["kind"] == before["policy"]["kind"]
    assert rebuilt["policy"].keys() == before["policy"].keys()
    if "delta" in before["policy"]:
        assert rebuilt["policy"]["delta"] == pytest.approx(before["policy"]["delta"], abs=1e-6)


def plans_stored(server, agent, version):
    count = "SELECT count(*) FROM plans WHERE agent = :agent AND version = :version"
    return execute(server.folder, count, agent=read_agent_id(agent), version=version)[0][0]


def teach(client, agent, labels=(1, 0, 1)):
    for label in labels:
        play(client, start_episode(client, agent), STATES, label)
    return wait_learned(client, agent)["policy_version"]


def pin(client, agent, version):
    return client.post(f"/v1/agents/{agent}/policies/{version}/pin")


def unpin(client, agent):
    client.delete(f"/v1/agents/{agent}/pin").raise_for_status()


@pytest.fixture
def learner(client):
    agent = create_agent(client)
    teach(client, agent)
    return agent


def test_versions_are_listed_with_labels_prediction_and_evaluation(client, learner):
    trial = start_episode(client, learner, mode="evaluate", learn_transitions=False)
    play(client, trial, STATES)
    client.post(f"/v1/episodes/{trial}/label", json={"label": 1}).raise_for_status()
    items = versions(client, learner)["items"]
    numbers = [item["version"] for item in items]
    assert numbers == sorted(numbers, reverse=True)
    assert [item["in_force"] for item in items] == [True] + [False] * (len(items) - 1)
    assert not any(item["pinned"] for item in items)
    newest, first = items[0], items[-1]
    assert (newest["labels"], first["labels"]) == (3, 0)
    assert newest["version"] == view(client, learner)["policy_version"]
    assert newest["predicted"] == view(client, learner)["plan"]["value"]
    assert 0 <= newest["predicted"] <= 1
    assert (newest["evaluation"]["episodes"], newest["evaluation"]["good"]) == (1, 1)
    assert first["evaluation"] is None


def test_versions_come_in_pages(client, learner):
    whole = versions(client, learner)
    assert whole["next"] is None
    found, cursor = [], None
    while True:
        page = versions(client, learner, limit=1, **({} if cursor is None else {"cursor": cursor}))
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == whole["items"]


def test_a_pinned_version_stays_in_force_while_learning_goes_on(client, learner):
    pinned = view(client, learner)["policy_version"]
    before = policy(client, learner)
    answer = pin(client, learner, pinned)
    assert answer.status_code == 200
    assert (answer.json()["version"], answer.json()["pinned"]) == (pinned, True)
    newest = teach(client, learner, (0, 0, 1, 1))
    assert newest > pinned
    assert view(client, learner)["pinned_version"] == pinned
    assert policy(client, learner) == before
    for mode in ("learn", "exploit", "evaluate"):
        started = client.post(f"/v1/agents/{learner}/episodes", json={"mode": mode}).json()
        assert started["policy_version"] == pinned
    unpin(client, learner)
    assert view(client, learner)["pinned_version"] is None
    started = client.post(f"/v1/agents/{learner}/episodes", json={}).json()
    assert started["policy_version"] >= newest
    unpin(client, learner)  # harmless


@pytest.mark.parametrize("kind", ["thompson", "ucbvi", "uniform"])
def test_a_version_whose_plans_were_dropped_is_rebuilt_from_the_log(client, shared_server, kind):
    agent = create_agent(client, algorithm=kind)
    version = teach(client, agent)
    before, promised = policy(client, agent), view(client, agent)["plan"]["value"]
    teach(client, agent, (0, 1, 0, 0, 0, 1))
    assert plans_stored(shared_server, agent, version) == 0
    pin(client, agent, version).raise_for_status()
    assert plans_stored(shared_server, agent, version) > 0
    assert_alike(policy(client, agent), before)
    assert view(client, agent)["plan"]["value"] == pytest.approx(promised, abs=1e-6)


def test_a_pin_survives_a_restart_and_the_loss_of_its_plans(start_server):
    server = start_server()
    with server.client() as client:
        agent = create_agent(client)
        pinned = teach(client, agent)
        before = policy(client, agent)
        pin(client, agent, pinned).raise_for_status()
        teach(client, agent)
    server.kill()
    server.start()
    with server.client() as client:
        assert view(client, agent)["pinned_version"] == pinned
        assert policy(client, agent) == before
    server.stop()
    spoil = "UPDATE plans SET policy = :bad WHERE version = :version"
    execute(server.folder, spoil, bad=b"\0", version=pinned)
    server.start()
    with server.client() as client:
        view(client, agent)  # loads it
        deadline = time.monotonic() + 30
        while policy(client, agent)["policy_version"] != pinned:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert_alike(policy(client, agent), before)


def test_a_version_that_never_was_cannot_be_pinned(client, learner):
    problem = assert_problem(pin(client, learner, 999), 404, "not_found")
    assert problem["detail"] == "No policy with version '999'."
    assert_problem(pin(client, learner, "newest"), 422, "invalid_value")
    assert_problem(pin(client, "agt_0000000000", 0), 404, "not_found")
    assert view(client, learner)["pinned_version"] is None


def test_events_tell_of_pins(client, learner):
    version = view(client, learner)["policy_version"]
    pin(client, learner, version).raise_for_status()
    unpin(client, learner)
    found = []
    with client.stream(
        "GET", f"/v1/agents/{learner}/events", headers={"Last-Event-ID": "0"}
    ) as stream:
        for line in stream.iter_lines():
            if line.startswith("event:"):
                found.append(line.removeprefix("event:").strip())
            if found[-1:] == ["policy.unpinned"]:
                break
    assert found[-2:] == ["policy.pinned", "policy.unpinned"]
