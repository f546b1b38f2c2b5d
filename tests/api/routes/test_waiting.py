"""Waiting for learning: `wait` of a start and of an agent, and what the view says about it."""

import os
import signal

import pytest

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


@pytest.fixture
def server(start_server):
    return start_server(PLAUDIT_WAIT_SECONDS=2)


def slowed(server, client, agent):
    """Stop the only learner after a label, so that learning takes long."""
    play(client, start_episode(client, agent), STATES, 1)
    wait_learned(client, agent)
    for learner in server.learners:
        os.kill(learner, signal.SIGSTOP)
    play(client, start_episode(client, agent, wait=False), STATES, 1)


def resume(server):
    for learner in server.learners:
        os.kill(learner, signal.SIGCONT)


def test_an_agent_says_whether_its_starts_wait(server):
    """The second start of each agent waits as long as it may, or not at all."""
    with server.client() as client:
        agents = {wait: create_agent(client, wait=wait) for wait in (True, False)}
        assert [view(client, agent)["wait"] for agent in agents.values()] == [True, False]
        for agent in agents.values():
            slowed(server, client, agent)
            start_episode(client, agent)
            resume(server)
        waited = {
            wait: view(client, agent)["timing"]["wait_seconds"] for wait, agent in agents.items()
        }
        assert waited[True] >= 0.3 * 2  # one of its starts waited for two seconds
        assert waited[False] is None
        # What a start says counts more than what the agent says.
        slowed(server, client, agents[False])
        start_episode(client, agents[False], wait=True)
        resume(server)
        assert view(client, agents[False])["timing"]["wait_seconds"] >= 2


def test_an_adaptive_start_does_not_wait_for_learning_that_takes_longer_than_an_episode(server):
    with server.client() as client:
        agent = create_agent(client, wait="adaptive")
        wait_learned(client, agent)
        slowed(server, client, agent)
        started = client.post(f"/v1/agents/{agent}/episodes", json={}).json()
        resume(server)
        timing = view(client, agent)["timing"]
        # These episodes take milliseconds, so that nobody waits two seconds for learning.
        assert timing["wait_seconds"] < 1
        assert started["policy_version"] > 0
        assert wait_learned(client, agent)["policy_version"] > started["policy_version"]


def test_a_fleet_may_start_adaptively(client):
    agent = create_agent(client)
    entries = [{"agent": agent, "wait": wait} for wait in ("adaptive", True, False)]
    answer = client.post("/v1/episodes", json={"episodes": entries}).json()
    assert [entry["result"]["status"] for entry in answer["results"]] == ["running"] * 3


def test_how_long_an_agent_takes_survives_a_restart(server):
    with server.client() as client:
        agent = create_agent(client)
        play(client, start_episode(client, agent), STATES, 1)
        wait_learned(client, agent)
    server.stop()
    server.start()
    with server.client() as client:
        timing = view(client, agent)["timing"]
        assert timing["learning_seconds"] > 0
        assert timing["episode_seconds"] >= 0
        assert timing["wait_seconds"] is None


@pytest.mark.parametrize("wait", ["sometimes", 1, "true"])
def test_an_unknown_wait_is_refused(client, agent, wait):
    answer = client.post(f"/v1/agents/{agent}/episodes", json={"wait": wait})
    problem = assert_problem(answer, 422, "invalid_value")
    assert problem["errors"][0]["pointer"] == "/wait"
