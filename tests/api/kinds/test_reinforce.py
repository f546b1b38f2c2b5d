"""`reinforce` over HTTP: numbers go in as they are, and who played an episode is remembered."""

import math

import pytest

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


def test_what_was_observed_predicts_and_explains(client):
    """The network has no model, but labelled observations do."""
    agent = create_agent(client, **BOX)
    for number in range(15):  # good where the first number ends above 0
        episode = start_episode(client, agent)
        play(client, episode, [seen(number, step) for step in range(5)])
        good = seen(number, 4)[0] > 0
        client.post(f"/v1/episodes/{episode}/label", json={"label": good}).raise_for_status()
    wait_learned(client, agent)
    model = client.get(f"/v1/agents/{agent}/model").json()
    assert "observed numbers" in model["features"]
    assert len(model["weights"]) == 2 * (2 + 3)
    assert model["transitions"] is None
    view = client.get(f"/v1/episodes/{episode}").json()
    logit = math.log(view["predicted"] / (1 - view["predicted"]))
    shares = [step["share"] for step in view["steps"]]
    assert model["intercept"] + sum(shares) + view["after_end"] == pytest.approx(logit)
    curve = client.get(f"/v1/agents/{agent}/learning-curve").json()
    assert {policy["predicted"] for policy in curve["policies"]} == {None}  # no model planned
    running = start_episode(client, agent)
    answer = client.post(
        f"/v1/episodes/{running}/steps", json={"state": seen(0, 0), "explain": True}
    ).json()
    assert 0.0 <= answer["explanation"]["success_probability"] <= 1.0
    assert answer["explanation"]["bonus_share"] == 0.0


def test_the_page_draws_a_map_over_two_observed_numbers(client):
    agent = create_agent(client, **BOX)
    session(client, agent, range(6))
    page = client.get(f"/agents/{agent}")
    assert page.status_code == 200
    assert page.text.count('class="square"') > 4
    turned = client.get(f"/agents/{agent}", params={"x": 1, "y": 0}).text
    assert "To the right: number 1, 0 to 5." in turned
    assert client.get(f"/agents/{agent}", params={"x": 2}).status_code == 422
    assert client.get("/labellers").status_code == 200


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
