"""Idempotency-Key: one thing is made, however often and at whatever time it is asked for."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from tests.support.running import LAKE, assert_problem, create_agent

_numbers = count()
TRAJECTORIES = {"trajectories": [{"states": [0] * 5, "actions": [0] * 5, "label": 1}] * 2}


def fresh_key():
    return f"request {next(_numbers)}"


@pytest.fixture(scope="module")
def agent(shared_server):
    with shared_server.client() as client:
        return create_agent(client)


def request(agent, what):
    """(path, body, another body, which part of the answer names what was made)."""
    return {
        "agent": ("/v1/agents", LAKE, LAKE | {"seed": 8}, "id"),
        "episode": (f"/v1/agents/{agent}/episodes", {"wait": False}, {"mode": "exploit"}, "id"),
        "trajectories": (
            f"/v1/agents/{agent}/trajectories",
            TRAJECTORIES,
            {"trajectories": TRAJECTORIES["trajectories"][:1]},
            "first",
        ),
        "key": ("/v1/keys", {"name": "a", "role": "actor"}, {"name": "b", "role": "actor"}, "id"),
    }[what]


def post(client, path, body, key):
    return client.post(path, json=body, headers={"Idempotency-Key": key})


def how_many(client, agent, what):
    """How many there are of what a request makes."""
    if what == "agent":
        return len(client.get("/v1/agents", params={"limit": 500}).json()["items"])
    if what == "key":
        return len(client.get("/v1/keys").json()["items"])
    return sum(client.get(f"/v1/agents/{agent}").json()["episodes"].values())


MADE = {"agent": 1, "episode": 1, "trajectories": 2, "key": 1}


@pytest.mark.parametrize("what", MADE)
def test_the_same_key_and_body_make_one_thing(client, agent, what):
    path, body, _, name = request(agent, what)
    key, before = fresh_key(), how_many(client, agent, what)
    answers = [post(client, path, body, key) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201] * 3
    assert len({answer.json()[name] for answer in answers}) == 1
    assert how_many(client, agent, what) == before + MADE[what]
    assert post(client, path, body, fresh_key()).json()[name] != answers[0].json()[name]


@pytest.mark.parametrize("what", MADE)
def test_the_same_key_with_another_body_is_a_conflict(client, agent, what):
    path, body, other, _ = request(agent, what)
    key = fresh_key()
    assert post(client, path, body, key).status_code == 201
    before = how_many(client, agent, what)
    assert_problem(post(client, path, other, key), 409, "idempotency_key_reused")
    assert how_many(client, agent, what) == before


@pytest.mark.parametrize("what", MADE)
def test_two_at_once_make_one_thing(shared_server, client, agent, what):
    path, body, _, name = request(agent, what)
    before = how_many(client, agent, what)
    rounds = 5
    for _ in range(rounds):
        key = fresh_key()

        def ask(_, key=key):
            with shared_server.client() as own:
                return post(own, path, body, key)

        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(ask, range(4)))
        assert [answer.status_code for answer in answers] == [201] * 4
        assert len({answer.json()[name] for answer in answers}) == 1
    assert how_many(client, agent, what) == before + rounds * MADE[what]


def test_a_retry_after_a_restart_makes_nothing_new(start_server):
    server = start_server()
    with server.client() as client:
        agent = create_agent(client)
        first = {}
        for what in MADE:
            path, body, _, name = request(agent, what)
            first[what] = post(client, path, body, what).json()[name]
        counts = {what: how_many(client, agent, what) for what in MADE}
    server.kill()
    server.start()
    with server.client() as client:
        for what in MADE:
            path, body, other, name = request(agent, what)
            assert post(client, path, body, what).json()[name] == first[what]
            assert_problem(post(client, path, other, what), 409)
        assert {what: how_many(client, agent, what) for what in MADE} == counts


def test_a_retry_after_a_deletion_says_so(client):
    key = fresh_key()
    made = post(client, "/v1/agents", LAKE, key).json()["id"]
    client.delete(f"/v1/agents/{made}")
    problem = assert_problem(post(client, "/v1/agents", LAKE, key), 409, "created_and_deleted")
    assert made in problem["detail"]
    assert post(client, "/v1/agents", LAKE, fresh_key()).status_code == 201


def test_a_secret_is_not_shown_again(client):
    body, key = {"name": "arm", "role": "actor"}, fresh_key()
    first, again = (post(client, "/v1/keys", body, key).json() for _ in "ab")
    assert first["secret"]
    assert again == first | {"secret": None}


def test_a_request_that_was_refused_may_be_mended_under_the_same_key(client, agent):
    key, path = fresh_key(), f"/v1/agents/{agent}/trajectories"
    bad = {"trajectories": [{"states": [99], "actions": [0]}]}
    assert_problem(post(client, path, bad, key), 422)
    assert post(client, path, TRAJECTORIES, key).status_code == 201


def test_the_same_key_on_another_path_is_another_request(client, agent):
    key, other = fresh_key(), create_agent(client)
    made = {
        post(client, f"/v1/agents/{one}/episodes", {"wait": False}, key).json()["id"]
        for one in (agent, other)
    }
    assert len(made) == 2


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb"])
def test_a_key_that_is_none_is_refused(client, key):
    problem = assert_problem(post(client, "/v1/agents", LAKE, key), 422)
    assert problem["errors"][0]["parameter"].lower() == "idempotency-key"
