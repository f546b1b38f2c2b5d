"""`plaudit doctor` against real servers: one that is well, and one that is not."""

import pytest
from typer.testing import CliRunner

from app.cli.doctor import CHECKS
from app.cli.root import app
from tests.client.faulty import FaultyProxy, Refuse


def run(*arguments):
    """The exit code, and what was printed on one line."""
    result = CliRunner().invoke(app, ["doctor", *arguments], env={"COLUMNS": "200"})
    return result.exit_code, " ".join(result.output.split())


def test_a_healthy_server(shared_server, client):
    before = client.get("/v1/agents", params={"limit": 500}).json()["items"]
    code, text = run(shared_server.url)
    assert (code, text.count("holds")) == (0, len(CHECKS)), text
    assert f"All {len(CHECKS)} checks hold." in text
    after = client.get("/v1/agents", params={"limit": 500}).json()["items"]
    assert [agent["id"] for agent in after] == [agent["id"] for agent in before]


def test_a_server_that_is_away():
    code, text = run("http://127.0.0.1:9")
    assert code == 1
    assert "No answer from http://127.0.0.1:9" in text


@pytest.mark.parametrize("status", [200, 500])
def test_a_server_that_answers_nonsense(shared_server, status):
    with FaultyProxy(shared_server.url) as proxy:
        proxy.faults += [Refuse(status, body=b"<html>")] * 200
        code, text = run(proxy.url)
    assert code == 1
    assert "checks failed" in text
