"""Every agent kind of the paper over HTTP: what is theirs alone."""

from tests.support.running import (
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

EXPLORE = {
    "states": {"kind": "discrete", "n": 2},
    "actions": {"kind": "discrete", "n": 2},
    "horizon": 2,
    "features": None,
    "algorithm": {"kind": "ucbvi_explore", "n_euler": 1, "n_eval": 1, "max_loops": 2},
}


def explore(client, agent, most=60):
    """Play until a label is wanted; the episodes that wanted none."""
    free = []
    for _ in range(most):
        answer = client.post(f"/v1/agents/{agent}/episodes", json={}).json()
        two_steps(client, answer["id"])
        if answer["label_required"]:
            return free, answer["id"]
        free.append(answer["id"])
    raise AssertionError("exploration never ended")


def test_exploring_needs_no_labels(client):
    agent = create_agent(client, **EXPLORE)
    view = client.get(f"/v1/agents/{agent}").json()
    assert "phase" in view["progress"]
    free, first = explore(client, agent)
    assert free
    for episode in free:
        assert client.get(f"/v1/episodes/{episode}").json()["status"] == "completed"
    for order in ("oldest", "newest", "informative"):
        query = {"agent": agent, "status": "awaiting_label", "order": order}
        queue = client.get("/v1/episodes", params=query).json()["items"]
        assert [item["id"] for item in queue] == [first]
    client.post(f"/v1/episodes/{first}/label", json={"label": 1}).raise_for_status()
    after = wait_learned(client, agent)
    assert after["episodes"]["completed"] == len(free)
    assert after["progress"]["phase"] != view["progress"]["phase"]


def test_exploring_goes_on_after_a_kill(start_server, tmp_path):
    """The same requests on two servers, one of them killed in the middle: the same actions."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    undisturbed = start_server(whole)
    with undisturbed.client() as client:
        agent = create_agent(client, **EXPLORE)
        expected = [two_steps(client, start_episode(client, agent)) for _ in range(8)]
    server = start_server(killed)
    with server.client() as client:
        agent = create_agent(client, **EXPLORE)
        taken = [two_steps(client, start_episode(client, agent)) for _ in range(3)]
        episode = start_episode(client, agent)
        play(client, episode, [0])
    server.kill()
    server.start()
    with server.client() as client:
        taken.append(two_steps(client, episode))  # its first step is a retry
        taken += [two_steps(client, start_episode(client, agent)) for _ in range(4)]
    assert taken == expected


def two_steps(client, episode):
    """Steps in a world where an action leads to the state of its number; the actions."""
    first = play(client, episode, [0])[0]
    answer = client.post(f"/v1/episodes/{episode}/steps", json={"state": first, "step": 1})
    return first, answer.json()["action"]


def test_the_exact_kind_refuses_a_tree_that_is_too_large(client):
    body = {
        "name": "x",
        "states": {"kind": "discrete", "n": 20},
        "actions": {"kind": "discrete", "n": 4},
        "horizon": 20,
        "algorithm": {"kind": "ucbvi_exact"},
    }
    answer = client.post("/v1/agents", json=body)
    problem = assert_problem(answer, 422, "too_large")
    assert "lower the horizon" in problem["detail"]


def test_the_exact_kind_learns_a_small_problem(client):
    agent = create_agent(client, features=None, horizon=3, algorithm={"kind": "ucbvi_exact"})
    for number in range(3):
        play(client, start_episode(client, agent), [0, 1, 2], label=number % 2)
    view = wait_learned(client, agent)
    assert view["plan"]["planner"] == "exact"
    assert view["plan"]["gap"] <= 1e-9


def test_events_are_named_as_the_client_names_states(client):
    events = [{"both": ["hall", "roof"]}, {"visited": "yard"}]
    agent = create_agent(
        client,
        states={"kind": "labels", "values": ["hall", "yard", "roof"]},
        features={"kind": "events", "events": events},
    )
    view = client.get(f"/v1/agents/{agent}").json()
    assert view["features"]["events"][0]["both"] == ["hall", "roof"]
    episode = start_episode(client, agent)
    play(client, episode, ["hall", "yard", "roof", "hall", "hall"], label=1)
    wait_learned(client, agent)
    shares = [step["share"] for step in client.get(f"/v1/episodes/{episode}").json()["steps"]]
    assert shares[0] == shares[3] == shares[4] == 0.0
    assert shares[1] > 0
    assert shares[2] > 0


def test_an_event_that_names_no_state_is_refused(client):
    body = {
        "name": "x",
        "states": {"kind": "labels", "values": ["hall", "yard"]},
        "actions": {"kind": "discrete", "n": 2},
        "horizon": 3,
        "features": {"kind": "events", "events": [{"visited": "moon"}]},
    }
    problem = assert_problem(client.post("/v1/agents", json=body), 422, "invalid_value")
    assert problem["errors"][0]["pointer"] == "/features/events/0/visited"
