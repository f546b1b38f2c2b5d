"""`reinforce` over HTTP: numbers go in as they are, and who played an episode is remembered."""

import math

from tests.support.running import create_agent, play, start_episode, wait_learned

BOX = {
    "states": {"kind": "box", "low": [-1, 0], "high": [1, 5]},
    "features": None,
    "algorithm": {"kind": "reinforce", "batch": 3, "hidden": [8], "step_size": 0.5},
}


def seen(number, step):
    return [math.sin(number + 3 * step), 2.5 + 2 * math.cos(5 * number + step)]


def session(client, agent, numbers):
    """Episodes and labels; the actions."""
    actions = []
    for number in numbers:
        episode = start_episode(client, agent)
        own = play(client, episode, [seen(number, step) for step in range(5)])
        label = own[0] == own[4]
        client.post(f"/v1/episodes/{episode}/label", json={"label": label}).raise_for_status()
        actions.append(own)
    wait_learned(client, agent)
    return actions


def test_batches_of_labels_are_gradient_steps(client):
    agent = create_agent(client, **BOX)
    session(client, agent, range(7))
    view = client.get(f"/v1/agents/{agent}").json()
    assert view["progress"]["gradient_steps"] == 2
    assert view["progress"]["waiting"] == 1
    assert view["warnings"] == []
    assert view["plan"]["planner"] == "network"
    shown = client.get("/v1/episodes", params={"agent": agent}).json()["items"][0]
    whole = client.get(f"/v1/episodes/{shown['id']}").json()
    assert whole["steps"][1]["state"] == seen(0, 1)
    assert whole["predicted"] is None


def test_a_restart_changes_nothing(start_server, tmp_path):
    """Two servers, the same requests; one is killed between episodes, the other is not."""
    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    whole, killed = start_server(tmp_path / "whole"), start_server(tmp_path / "killed")
    with whole.client() as client:
        expected = session(client, create_agent(client, **BOX), range(12))
    with killed.client() as client:
        agent = create_agent(client, **BOX)
        taken = session(client, agent, range(5))
    killed.kill()
    killed.start()
    with killed.client() as client:
        taken += session(client, agent, range(5, 12))
    assert taken == expected


def test_what_is_no_observation_is_refused(client):
    agent = create_agent(client, **BOX)
    episode = start_episode(client, agent)
    for state in ([0.0], [0.0, 1.0, 2.0], ["0", 1], 3, "a", [None, 1.0]):
        answer = client.post(f"/v1/episodes/{episode}/steps", json={"state": state})
        assert answer.status_code == 422, state
        assert answer.json()["errors"][0]["pointer"].startswith("/state")
    raw = '{"state": [NaN, 1.0]}'
    headers = {"Content-Type": "application/json"}
    answer = client.post(f"/v1/episodes/{episode}/steps", content=raw, headers=headers)
    assert answer.status_code == 422


def test_other_kinds_need_bins_and_reinforce_needs_none(client):
    def refused(**changes):
        answer = client.post(
            "/v1/agents",
            json={
                "name": "x",
                "actions": {"kind": "discrete", "n": 2},
                "horizon": 5,
                "states": BOX["states"],
                "algorithm": BOX["algorithm"],
            }
            | changes,
        )
        assert answer.status_code == 422
        return answer.json()["errors"][0]

    assert refused(algorithm={"kind": "thompson"})["pointer"] == "/states"
    assert refused(states={"kind": "discrete", "n": 4})["pointer"] == "/states"
