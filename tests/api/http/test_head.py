"""HEAD: what GET says, without the body."""

import httpx
import pytest

from tests.support.running import create_agent, play, start_episode

VOLATILE = {"date", "x-request-id", "set-cookie"}


@pytest.fixture(scope="module")
def paths(shared_server):
    with shared_server.client() as client:
        agent = create_agent(client)
        episode = start_episode(client, agent)
        play(client, episode, [0, 1, 2, 3, 3], label=1)
    return {"agent": agent, "episode": episode}


@pytest.mark.parametrize(
    "path",
    [
        "/healthz",
        "/v1/agents/{agent}",
        "/v1/agents/{agent}/model",
        "/v1/episodes/{episode}",
        "/v1/episodes/{episode}/recording",
        "/v1/episodes?agent={agent}",
        "/v1/agents/agt_0000000000",
        "/v1/nowhere",
        "/openapi.json",
        "/docs",
        "/",
        "/agents/{agent}",
        "/label",
    ],
)
def test_it_is_get_without_the_body(client, paths, path):
    whole, head = (client.request(method, path.format(**paths)) for method in ("GET", "HEAD"))
    assert head.status_code == whole.status_code
    assert head.content == b""
    names = set(whole.headers) - VOLATILE
    assert set(head.headers) - VOLATILE == names
    for name in names - {"content-length", "content-security-policy"}:
        assert head.headers[name] == whole.headers[name]
    if "text/html" not in head.headers["content-type"]:  # pages have a token of their own
        assert head.headers["content-length"] == whole.headers["content-length"]


def listeners(client):
    lines = client.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("plaudit_event_listen"))


@pytest.mark.parametrize("path", ["/v1/agents/{agent}/events", "/v1/agents/{agent}/export"])
def test_a_stream_ends_at_once(shared_server, client, paths, path):
    before = listeners(client)
    answer = client.head(path.format(**paths), timeout=20)
    assert answer.status_code == 200
    assert answer.content == b""
    assert client.get("/healthz").status_code == 200  # on the same connection
    assert listeners(client) <= before
    assert "Traceback" not in shared_server.output


def test_what_takes_no_get_takes_no_head(client):
    answer = client.head("/v1/steps")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


def test_it_is_among_the_methods_that_a_path_takes(client):
    answer = client.put("/healthz")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"


def test_it_needs_a_key_where_get_does(start_server):
    server = start_server(PLAUDIT_ADMIN_KEY="a-key-of-sixteen-characters", learning=False)
    assert httpx.head(f"{server.url}/v1/agents").status_code == 401
