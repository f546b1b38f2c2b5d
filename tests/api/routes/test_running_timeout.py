"""`running_timeout`: an episode that never ends is abandoned, and its transitions count."""

import time

import pytest

from tests.support.running import (
    STATES,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)


def status(client, episode):
    return client.get(f"/v1/episodes/{episode}").json()["status"]


def wait_abandoned(client, episode):
    deadline = time.monotonic() + 30
    while status(client, episode) == "running":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert status(client, episode) == "abandoned"


def test_an_episode_that_never_ends_is_abandoned_and_its_transitions_count(client):
    agent = create_agent(client, running_timeout="PT1S")
    assert client.get(f"/v1/agents/{agent}").json()["running_timeout"] == "PT1S"
    episode = start_episode(client, agent)
    play(client, episode, STATES[:3])
    wait_abandoned(client, episode)
    late = client.post(f"/v1/episodes/{episode}/steps", json={"state": 3})
    assert_problem(late, 409, "episode_over")
    counts = client.get(f"/v1/agents/{agent}").json()["episodes"]
    assert (counts["running"], counts["abandoned"]) == (0, 1)
    play(client, start_episode(client, agent), STATES, 1)  # learns what is new
    wait_learned(client, agent)
    visits = client.get(f"/v1/agents/{agent}/model").json()["visits"]
    assert sum(map(sum, visits)) == 3 + len(STATES)


def test_an_episode_that_is_over_in_time_is_left_alone(client):
    agent = create_agent(client, running_timeout="PT1S")
    finished = start_episode(client, agent)
    play(client, finished, STATES)
    endless = start_episode(client, agent)
    wait_abandoned(client, endless)
    assert status(client, finished) == "awaiting_label"


def test_a_timeout_goes_on_while_the_server_is_down(start_server):
    server = start_server()
    with server.client() as client:
        agent = create_agent(client, running_timeout="PT1S")
        episode = start_episode(client, agent)
        play(client, episode, STATES[:2])
    server.kill()
    server.start()
    with server.client() as client:
        wait_abandoned(client, episode)
        assert len(client.get(f"/v1/episodes/{episode}").json()["steps"]) == 2


@pytest.mark.parametrize("timeout", [5, "5", "PT0S", "P1M", True])
def test_a_timeout_is_an_iso_8601_duration(client, timeout):
    body = {"name": "a", "states": 4, "actions": 2, "horizon": 3, "running_timeout": timeout}
    problem = assert_problem(client.post("/v1/agents", json=body), 422, "invalid_value")
    assert problem["errors"][0]["pointer"] == "/running_timeout"
