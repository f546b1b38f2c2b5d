"""`smooth` over HTTP: the kind for numbers without bins."""

import math

import pytest

from tests.support.running import create_agent, play, start_episode, wait_learned

BOX = {
    "states": {"kind": "box", "low": [-1, -1], "high": [1, 1]},
    "actions": {"kind": "discrete", "n": 2},
    "features": None,
    "algorithm": {"centres": 100},
}


def walk(client, episode):
    """A robot that moves left or right by what it is told; where it stands in the end."""
    x, v = 0.0, 0.0
    for _ in range(5):
        step = client.post(f"/v1/episodes/{episode}/steps", json={"state": [x, v]})
        step.raise_for_status()
        v = 0.5 * v + 0.1 * (2 * step.json()["action"] - 1)
        x += v
    return [x, v]


def session(client, agent, count):
    """Episodes whose end is reported, and labels; the last states."""
    ends = []
    for _ in range(count):
        episode = start_episode(client, agent)
        end = walk(client, episode)
        answer = client.post(f"/v1/episodes/{episode}/finish", json={"state": end})
        answer.raise_for_status()
        label = {"label": int(end[0] > 0.3)}
        client.post(f"/v1/episodes/{episode}/label", json=label).raise_for_status()
        wait_learned(client, agent)
        ends.append(end[0])
    return ends


def test_it_is_the_default_for_a_box_without_bins_and_learns(client):
    agent = create_agent(client, **BOX)
    assert client.get(f"/v1/agents/{agent}").json()["algorithm"]["kind"] == "smooth"
    ends = session(client, agent, 14)
    view = client.get(f"/v1/agents/{agent}").json()
    assert view["plan"]["planner"] == "net"
    assert view["progress"]["steps"] == 5 * 13  # up to the last checkpoint of the log
    assert len(view["progress"]["relevance"]) == 2
    assert sum(end > 0.3 for end in ends[-6:]) >= 3


def test_numbers_may_have_no_bounds(client):
    space = {"kind": "box", "low": [None, -1], "high": [None, None]}
    agent = create_agent(client, **BOX | {"states": space})
    session(client, agent, 6)
    view = client.get(f"/v1/agents/{agent}").json()
    assert view["states"]["high"] == [None, None]
    assert view["plan"]["planner"] == "net"
    page = client.get(f"/agents/{agent}", params={"x": 0, "y": 1})
    assert page.status_code == 200


def test_a_restart_changes_nothing(start_server, tmp_path):
    """Two servers, the same requests; one is killed between episodes, the other is not."""
    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    whole, killed = start_server(tmp_path / "whole"), start_server(tmp_path / "killed")
    with whole.client() as client:
        expected = session(client, create_agent(client, **BOX), 8)
    with killed.client() as client:
        agent = create_agent(client, **BOX)
        ends = session(client, agent, 4)
    killed.kill()
    killed.start()
    with killed.client() as client:
        ends += session(client, agent, 4)
    assert ends == expected


def test_the_informative_order_and_old_logs(client):
    agent = create_agent(client, **BOX)
    rows = [[math.sin(i), math.cos(i)] for i in range(6)]
    body = {"trajectories": [{"states": rows, "actions": [0, 1, 0, 1, 0], "label": 0}]}
    client.post(f"/v1/agents/{agent}/trajectories", json=body).raise_for_status()
    for _ in range(2):
        play(client, start_episode(client, agent), [[0.1 * i, 0.2] for i in range(5)])
    query = {"agent": agent, "status": "awaiting_label", "order": "informative"}
    assert len(client.get("/v1/episodes", params=query).json()["items"]) == 2


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"states": {"kind": "box", "low": [0, 1], "high": [1, 1]}}, "/states"),
        ({"states": {"kind": "box", "low": [None], "high": [1], "bins": [3]}}, "/states"),
        (
            {
                "states": {"kind": "box", "low": [None], "high": [1]},
                "algorithm": {"kind": "reinforce"},
            },
            "/states",
        ),
        ({"algorithm": {"kind": "smooth", "centres": 9}}, "/algorithm/centres"),
        ({"algorithm": {"kind": "smooth", "bins": 9}}, "/algorithm/bins"),
        ({"states": {"kind": "discrete", "n": 4}, "algorithm": {"kind": "smooth"}}, "/states"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(client, changes, pointer):
    body = {"name": "x", "horizon": 5, **BOX} | changes
    answer = client.post("/v1/agents", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith(pointer)


def test_a_horizon_that_no_budget_carries_is_refused(client):
    answer = client.post("/v1/agents", json={"name": "x", **BOX, "horizon": 9000})
    assert answer.status_code == 422
    assert "horizon" in answer.text


def test_pages_and_documents_show_what_it_believes(client):
    agent = create_agent(client, **BOX)
    session(client, agent, 6)
    page = client.get(f"/agents/{agent}", params={"x": 1, "y": 0})
    assert page.status_code == 200
    assert "To the right: number 1, " in page.text
    model = client.get(f"/v1/agents/{agent}/model").json()
    assert len(model["weights"]) > 5
    document = client.get(f"/v1/agents/{agent}/policy", params={"mode": "exploit"}).json()
    assert document["policy"]["kind"] == "net"
    assert len(document["policy"]["centres"]) == len(model["weights"])
    episode = start_episode(client, agent)
    body = {"state": [0, 0], "explain": True}
    step = client.post(f"/v1/episodes/{episode}/steps", json=body)
    assert 0.0 <= step.json()["explanation"]["success_probability"] <= 1.0
