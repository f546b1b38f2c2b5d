"""Requests that make no sense: each is told what is wrong with it, and none is a 500."""

import json
import re
import socket

import httpx
import pytest
from fastapi.exceptions import RequestValidationError

from app.api.http import problems
from tests.support.running import (
    LAKE,
    RunningServer,
    assert_problem,
    create_agent,
    play,
    start_episode,
)

JSON = {"content-type": "application/json"}
NO_AGENT, NO_EPISODE = "agt_0000000000", "eps_0000000000_0"


@pytest.fixture(scope="module")
def small_server(tmp_path_factory):
    """A server that takes bodies of 20 000 bytes at most."""
    with RunningServer(tmp_path_factory.mktemp("small"), PLAUDIT_BODY_BYTES=20_000) as server:
        yield server


@pytest.fixture(scope="module")
def routes(shared_server):
    """Every route that takes a body, by name, with real ids in it: (method, path, good body)."""
    with shared_server.client() as client:
        agent = create_agent(client)
        running, over = (start_episode(client, agent, wait=False) for _ in range(2))
        play(client, over, [0, 1, 2, 3, 3])
    trajectory = {"states": [0], "actions": [0], "label": 1}
    return {
        "create": ("POST", "/v1/agents", LAKE),
        "change": ("PATCH", f"/v1/agents/{agent}", {"name": "pond"}),
        "start": ("POST", f"/v1/agents/{agent}/episodes", {"mode": "learn"}),
        "step": ("POST", f"/v1/episodes/{running}/steps", {"state": 0}),
        "finish": ("POST", f"/v1/episodes/{running}/finish", {"state": 0}),
        "label": ("POST", f"/v1/episodes/{over}/label", {"label": 1}),
        "relabel": ("PUT", f"/v1/episodes/{over}/label", {"label": 1}),
        "steps": ("POST", "/v1/steps", {"steps": [{"episode": running, "state": 0}]}),
        "starts": ("POST", "/v1/episodes", {"episodes": [{"agent": agent, "wait": False}]}),
        "finishes": ("POST", "/v1/finishes", {"finishes": [{"episode": running, "state": 0}]}),
        "labels": ("POST", "/v1/labels", {"labels": [{"episode": over, "label": 1}]}),
        "import": ("POST", f"/v1/agents/{agent}/trajectories", {"trajectories": [trajectory]}),
        "key": ("POST", "/v1/keys", {"name": "arm", "role": "actor"}),
    }


ROUTES = [
    "create",
    "change",
    "start",
    "step",
    "finish",
    "label",
    "relabel",
    "steps",
    "starts",
    "finishes",
    "labels",
    "import",
    "key",
]
DEEP = 100_000
UNREADABLE = {
    "truncated": lambda good: good[:-1],
    "empty object cut": lambda _: b"{",
    "two values": lambda good: good + good,
    "not text": lambda _: b"\xff\xfe\x00{",
    "broken text": lambda _: b'{"name": "\xff"}',
    "control": lambda _: b'{"name": "\x00"}',
    "deep list": lambda _: b"[" * DEEP + b"]" * DEEP,
    "deep object": lambda _: b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep and truncated": lambda _: b"[" * DEEP,
    "number without end": lambda _: b"1" * 5000,
}
WRONG = {
    "a list": b"[]",
    "a number": b"1",
    "a text": b'"text"',
    "a truth": b"true",
    "NaN": b"NaN",
    "something unknown": b'{"no such field": 1}',
    "half a surrogate pair": b'{"\\ud800": "\\ud800"}',
    "past counting": b"1e400",
}


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("what", UNREADABLE)
def test_a_body_that_is_no_json_is_told_so(client, routes, name, what):
    method, path, good = routes[name]
    content = UNREADABLE[what](json.dumps(good).encode())
    answer = client.request(method, path, content=content, headers=JSON)
    assert answer.status_code in (400, 422), answer.text
    assert_problem(answer, answer.status_code)


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("what", WRONG)
def test_a_body_of_the_wrong_type_is_told_so(client, routes, name, what):
    method, path, _ = routes[name]
    problem = assert_problem(client.request(method, path, content=WRONG[what], headers=JSON), 422)
    assert problem["errors"] or problem["code"] == "invalid_json"


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "1e400", "1" + "0" * 400, "null", '"\\ud800"', "[[]]", "{}", "1.5"]
)
def test_a_field_of_the_wrong_type_is_pointed_at(client, routes, name, value):
    method, path, good = routes[name]
    field = next(iter(good))
    content = json.dumps(good | {field: "here"}).replace('"here"', value)
    answer = client.request(method, path, content=content, headers=JSON)
    if (name, value) == ("finish", "null"):
        assert answer.status_code in (200, 409)  # an end that nobody located is an end
        return
    problem = assert_problem(answer, 422)
    if problem["code"] != "invalid_json":
        assert problem["errors"][0]["pointer"].startswith(f"/{field}")
        assert problem["errors"][0]["detail"].startswith(("expected ", "unknown "))


@pytest.mark.parametrize("name", [name for name in ROUTES if name not in ("start", "finish")])
def test_no_body_is_told_so(client, routes, name):
    method, path, _ = routes[name]
    for headers in ({}, JSON):
        assert_problem(client.request(method, path, headers=headers), 422)


@pytest.mark.parametrize("name", ROUTES)
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_what_is_not_declared_as_json_is_not_read(client, routes, name, kind):
    """A web page of another site can send these without asking; it must not get in."""
    method, path, good = routes[name]
    headers = {} if kind is None else {"content-type": kind}
    answer = client.request(method, path, content=json.dumps(good).encode(), headers=headers)
    assert_problem(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize("name", ROUTES)
def test_a_body_over_the_limit_is_413_with_a_length_and_without(small_server, name):
    with small_server.client() as client:
        agent = create_agent(client)
        episode = start_episode(client, agent, wait=False)
        method, path = {
            "create": ("POST", "/v1/agents"),
            "change": ("PATCH", f"/v1/agents/{agent}"),
            "start": ("POST", f"/v1/agents/{agent}/episodes"),
            "step": ("POST", f"/v1/episodes/{episode}/steps"),
            "finish": ("POST", f"/v1/episodes/{episode}/finish"),
            "label": ("POST", f"/v1/episodes/{episode}/label"),
            "relabel": ("PUT", f"/v1/episodes/{episode}/label"),
            "steps": ("POST", "/v1/steps"),
            "starts": ("POST", "/v1/episodes"),
            "finishes": ("POST", "/v1/finishes"),
            "labels": ("POST", "/v1/labels"),
            "import": ("POST", f"/v1/agents/{agent}/trajectories"),
            "key": ("POST", "/v1/keys"),
        }[name]
        large = b'{"metadata": {"a": "' + b"x" * 20_000 + b'"}}'
        answer = client.request(method, path, content=large, headers=JSON)
        assert "20000" in assert_problem(answer, 413, "body_too_large")["detail"]

        def pieces():
            for start in range(0, len(large), 1000):
                yield large[start : start + 1000]

        answer = client.request(method, path, content=pieces(), headers=JSON)
        assert_problem(answer, 413, "body_too_large")
        just_fits = json.dumps(LAKE | {"metadata": {"a": "x" * 10_000}}).encode()
        assert client.post("/v1/agents", content=just_fits, headers=JSON).status_code == 201


UNKNOWN = [
    ("GET", f"/v1/agents/{NO_AGENT}", None),
    ("PATCH", f"/v1/agents/{NO_AGENT}", {"name": "x"}),
    ("DELETE", f"/v1/agents/{NO_AGENT}", None),
    ("GET", f"/v1/agents/{NO_AGENT}/model", None),
    ("GET", f"/v1/agents/{NO_AGENT}/policy", None),
    ("GET", f"/v1/agents/{NO_AGENT}/learning-curve", None),
    ("GET", f"/v1/agents/{NO_AGENT}/events", None),
    ("GET", f"/v1/agents/{NO_AGENT}/export", None),
    ("POST", f"/v1/agents/{NO_AGENT}/episodes", {}),
    (
        "POST",
        f"/v1/agents/{NO_AGENT}/trajectories",
        {"trajectories": [{"states": [0], "actions": [0]}]},
    ),
    ("GET", f"/v1/episodes?agent={NO_AGENT}", None),
    ("GET", f"/v1/episodes/{NO_EPISODE}", None),
    ("POST", f"/v1/episodes/{NO_EPISODE}/steps", {"state": 0}),
    ("POST", f"/v1/episodes/{NO_EPISODE}/finish", {}),
    ("POST", f"/v1/episodes/{NO_EPISODE}/abandon", None),
    ("POST", f"/v1/episodes/{NO_EPISODE}/label", {"label": 1}),
    ("PUT", f"/v1/episodes/{NO_EPISODE}/label", {"label": 1}),
    ("DELETE", f"/v1/episodes/{NO_EPISODE}/label", None),
    ("DELETE", "/v1/keys/key_0000000000000000", None),
]
NO_IDS = ["x", "agt_", "eps_x_1", "agt_0000000000%0A", "%00", "%F0%9F%8C%8A", "a" * 500]


@pytest.mark.parametrize(
    ("method", "path", "body"), UNKNOWN, ids=[f"{method} {path}" for method, path, _ in UNKNOWN]
)
def test_an_unknown_id_is_404_on_every_route(client, method, path, body):
    """Ids of the right form that name nothing, and what has no form of an id at all."""
    own = {"headers": JSON, "content": json.dumps(body)} if body is not None else {}
    assert_problem(client.request(method, path, **own), 404, "not_found")
    for wrong in NO_IDS:
        other = re.sub(r"(agt|eps|key)_\w+", wrong.replace("\\", ""), path)
        answer = client.request(method, other, **own)
        assert answer.status_code in (404, 405, 307), (other, answer.text)
        if answer.status_code != 307:
            assert_problem(answer, answer.status_code)


def test_an_episode_of_an_agent_that_is_there_may_still_be_unknown(client, routes):
    episode = routes["step"][1].split("/")[3]
    base = episode.rpartition("_")[0]
    for number in ("99", "01", "-1", "2147483648", "99999999999999999999"):
        assert_problem(client.get(f"/v1/episodes/{base}_{number}"), 404)


def test_no_such_path_and_no_such_method_are_problems_too(client):
    assert_problem(client.get("/v1/nothing"), 404, "not_found")
    assert_problem(client.put("/v1/agents", json={}), 405, "method_not_allowed")


@pytest.mark.parametrize("given", ["abc-123", "A.b_c:d-9" * 5, "x" * 128])
def test_a_request_id_is_echoed(client, given):
    for path, status in (("/healthz", 200), (f"/v1/agents/{NO_AGENT}", 404)):
        answer = client.get(path, headers={"X-Request-ID": given})
        assert (answer.status_code, answer.headers["x-request-id"]) == (status, given)
    assert answer.json()["request_id"] == given


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "é", '"<script>'])
def test_a_request_id_that_is_none_is_replaced(client, given):
    answers = [client.get("/healthz", headers={"X-Request-ID": given.encode()}) for _ in "ab"]
    made = [answer.headers["x-request-id"] for answer in answers]
    assert given not in made
    assert made[0] != made[1]


def test_what_is_no_http_at_all_leaves_the_server_unmoved(shared_server, client):
    address = httpx.URL(shared_server.url)
    for junk in (
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n{",
    ):
        with socket.create_connection((address.host, address.port), timeout=20) as connection:
            connection.sendall(junk)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(4096)
        assert b" 500 " not in answer
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("length", "status"), [(b"0" * 5000 + b"2", 422), (b"02", 422), (b"9" * 18, 413)]
)
def test_a_length_of_many_digits_is_a_length(shared_server, length, status):
    """A client that checks its own requests would not send it."""
    address = httpx.URL(shared_server.url)
    with socket.create_connection((address.host, address.port), timeout=20) as connection:
        connection.sendall(
            b"POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: " + length + b"\r\n\r\n{}"
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 %d " % status)


def test_nothing_here_was_unexpected(shared_server):
    """The log has a line for every 500, whatever the client was told."""
    assert "unexpectedly" not in shared_server.output
    assert "Traceback" not in shared_server.output


def test_a_body_that_is_wrong_in_very_many_places_costs_little(monkeypatch):
    """Every place used to be compared with every other, in the event loop."""
    looked_at = []
    monkeypatch.setattr(problems, "place_of", lambda *_: looked_at.append(1) or ("states",))
    wrong = [
        {"type": "int_type", "loc": ("body", "states", i), "input": "x", "msg": ""}
        for i in range(50_000)
    ]
    found = problems._validation_problem(RequestValidationError(wrong, body={}), None, "id")
    assert found.status == 422
    assert len(found.errors) <= 50
    assert len(looked_at) < 1000
