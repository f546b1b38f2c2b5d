"""Where the server is: arguments, environment, and what is wrong with them."""

import pickle

import pytest

import plaudit
from plaudit import problems


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    monkeypatch.delenv("PLAUDIT_URL", raising=False)
    monkeypatch.delenv("PLAUDIT_KEY", raising=False)


def test_defaults_and_environment(monkeypatch):
    assert plaudit.Client().url == "http://127.0.0.1:8000"
    monkeypatch.setenv("PLAUDIT_URL", "https://robots.example/plaudit/")
    monkeypatch.setenv("PLAUDIT_KEY", "sesame ")
    client = plaudit.Client()
    assert client.url == "https://robots.example/plaudit"
    assert client._session.connection.headers["Authorization"] == "Bearer sesame"
    assert "sesame" not in repr(client._session.connection)
    assert plaudit.Client("http://other:1", key="x").url == "http://other:1"


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://x", "http://", "http://x/?a=1", "nonsense"]
)
def test_a_bad_address_is_refused_at_once(url):
    with pytest.raises(plaudit.InvalidArgument, match="address"):
        plaudit.Client(url)


def test_a_bad_key_is_refused_at_once():
    with pytest.raises(plaudit.InvalidArgument, match="PLAUDIT_KEY"):
        plaudit.Client(key="schlüssel\n")


def test_behind_a_path(connect, proxy):
    """A proxy may serve the server under a path."""
    with pytest.raises(plaudit.NotFound):
        connect(proxy.url + "/robots/", patience=0).read_health()
    assert [path for _, path, _, _ in proxy.requests] == ["/robots/healthz"]


@pytest.mark.parametrize("part", ["", ".", ".."])
def test_an_empty_id_reaches_no_other_path(part):
    with plaudit.Client() as client, pytest.raises(plaudit.InvalidArgument, match="not an id"):
        client.delete_agent(part)


def test_ids_are_quoted(proxy, connect):
    with pytest.raises(plaudit.NotFound):
        connect(proxy.url).read_agent("../keys?x#y/z")
    assert proxy.requests[0][1] == "/v1/agents/..%2Fkeys%3Fx%23y%2Fz"


def test_problems_survive_pickling():
    error = problems.problem_error(
        {
            "status": 422,
            "code": "invalid_value",
            "detail": "bad",
            "request_id": "abc",
            "errors": [{"pointer": "/a", "detail": "x"}, {"parameter": "b", "detail": "y"}],
        }
    )
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.pointers, type(again)) == (str(error), ("/a", "b"), type(error))


class Odd:
    """Neither a number nor a name."""


@pytest.mark.parametrize("value", [Odd(), {1, 2}, b"x"])
def test_what_json_cannot_carry_is_refused(value):
    with plaudit.Client() as client, pytest.raises(plaudit.InvalidArgument, match="state is a"):
        client.take_step("eps_x", value, 0)


def test_a_space_that_is_none():
    with plaudit.Client() as client, pytest.raises(plaudit.InvalidArgument, match="how many"):
        client.create_agent("x", "sixteen", 2, 5)
