"""Every blob and JSON column of an agent damaged: no request is a 500, and others see nothing."""

import sqlite3
from contextlib import closing

import pytest

from tests.support.running import (
    STATES,
    RunningServer,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

pytestmark = pytest.mark.sqlite

COLUMNS = [
    ("agents", "id", "specification"),
    ("agents", "id", "metadata"),
    ("agents", "id", "display"),
    ("agents", "id", "notes"),
    ("agents", "id", "examples"),
    ("episodes", "agent", "metadata"),
    ("episodes", "agent", "final_observation"),
    ("steps", "agent", "observation"),
    ("plans", "agent", "policy"),
    ("knowledge", "agent", "snapshot"),
    ("knowledge", "agent", "insight"),
]
GARBAGE = ["{broken", "[]", '"text"', "7", b"\x00\xff garbage \xfe"]
PATHS = [
    "/v1/agents",
    "/v1/episodes?order=newest",
    "/v1/episodes?order=informative",
    "/metrics",
    "/",
    "/label",
    "/labellers",
]
OF_AGENT = ["", "/model", "/policy", "/policy?mode=exploit", "/learning-curve", "/export"]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """A server whose agents each have one bad column, by (column, garbage); the last is whole."""
    cases = [(*column, bad) for column in COLUMNS for bad in GARBAGE]
    with RunningServer(tmp_path_factory.mktemp("damaged")) as server:
        with server.client() as client:
            agents = [taught(client, f"agent {i}") for i in range(len(cases) + 1)]
        server.kill()
        with closing(sqlite3.connect(server.database)) as database, database:
            ids = dict(database.execute("SELECT name, id FROM agents"))
            for i, (table, owner, column, bad) in enumerate(cases):
                statement = f"UPDATE {table} SET {column} = ? WHERE {owner} = ?"
                database.execute(statement, (bad, ids[f"agent {i}"]))
        server.start()
        yield server, dict(zip(cases, agents, strict=False)), agents[-1]


def taught(client, name):
    agent = create_agent(client, name=name)
    episode = start_episode(client, agent, wait=False)
    play(client, episode, STATES)
    wait_learned(client, agent)
    return agent, episode, start_episode(client, agent, wait=False)


@pytest.mark.parametrize("path", PATHS)
def test_lists_and_pages_of_all_agents_work(damaged, path):
    server, _, _ = damaged
    with server.client() as client:
        assert client.get(path).status_code == 200


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: f"{column[0]}.{column[2]}")
@pytest.mark.parametrize("bad", GARBAGE, ids=str)
def test_a_damaged_agent_answers_or_says_that_it_is_damaged(damaged, column, bad):
    server, agents, _ = damaged
    agent, over, running = agents[(*column, bad)]
    paths = [f"/v1/agents/{agent}{rest}" for rest in OF_AGENT]
    paths += [f"/agents/{agent}", f"/episodes/{over}", f"/label?agent={agent}"]
    paths += [f"/v1/episodes/{one}" for one in (over, running)]
    with server.client() as client:
        for path in paths:
            answer = client.get(path)
            assert answer.status_code in (200, 503), (path, answer.text)
        step = client.post(f"/v1/episodes/{running}/steps", json={"state": 0, "step": 0})
        label = client.post(f"/v1/episodes/{over}/label", json={"label": 1})
        for answer in (step, label):
            assert answer.status_code in (200, 503), answer.text
        if column[1:] == ("agent", "policy") or column[0] == "knowledge":
            view = wait_learned(client, agent)  # all of it is rebuilt from the log
            assert (view["learning"], view["learning_error"]) == ("idle", None)
            assert (step.status_code, label.status_code) == (200, 200)
        assert client.delete(f"/v1/agents/{agent}").status_code == 204


def test_the_agent_beside_them_is_whole(damaged):
    server, _, (agent, over, running) = damaged
    with server.client() as client:
        assert client.get(f"/v1/agents/{agent}/model").status_code == 200
        play(client, running, STATES, label=1)
        assert client.post(f"/v1/episodes/{over}/label", json={"label": 0}).status_code == 200
        assert wait_learned(client, agent)["learning"] == "idle"
    assert "Traceback" not in server.output
