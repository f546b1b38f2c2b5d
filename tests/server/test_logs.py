"""What an operator reads: one line an event, with the request that it belongs to, no secrets."""

import json
import logging
import sys

import pytest

from app.logs import JsonFormatter, TextFormatter
from tests.support.running import RunningServer, create_agent, play, start_episode, wait_until

SECRET = "0123456789abcdef-admin"


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """The lines of a server's whole life, by what happened."""
    folder = tmp_path_factory.mktemp("logs")
    server = RunningServer(folder, PLAUDIT_LOG_FORMAT="json", PLAUDIT_ADMIN_KEY=SECRET)
    with server, server.client(SECRET) as client:
        client.headers["X-Request-ID"] = "one-request"
        agent = create_agent(client)
        play(client, start_episode(client, agent), [0, 1, 2, 3, 3], label=1)
        logged = [{"states": [0, 1], "actions": [1, 1]}]
        client.post(f"/v1/agents/{agent}/trajectories", json={"trajectories": logged})
        key = client.post("/v1/keys", json={"name": "arm\n3", "role": "actor"}).json()
        client.delete(f"/v1/keys/{key['id']}")
        wait_until(lambda: '"policy replaced"' in server.output)
        client.delete(f"/v1/agents/{agent}")
    server.reader.join()  # the last lines too
    read = [json.loads(line) for line in server.lines]  # nothing but JSON is printed
    return Lines(read, server.output, agent, key)


class Lines:
    def __init__(self, read, output, agent, key):
        self.read, self.output, self.agent, self.key = read, output, agent, key

    def of(self, event):
        """The first line of an event."""
        return next(line for line in self.read if line["event"] == event)


def test_a_life_from_start_to_end(lines):
    events = [line["event"] for line in lines.read]
    assert {"serving", "learning ready"} <= set(events)
    assert events.index("serving") < events.index("agent created")
    assert events.index("agent created") < events.index("stopping")
    assert events[-1] == "stopped"  # what was being learned may come in between
    first = lines.of("serving")
    assert first["keys"] == "on"
    assert first["url"].startswith("http://127.0.0.1:")
    assert first["database"].startswith(("sqlite:///", "postgresql"))
    assert {line["level"] for line in lines.read} == {"info"}
    assert [line["time"] for line in lines.read] == sorted(line["time"] for line in lines.read)


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("agent created", {"kind": "thompson"}),
        ("episodes imported", {"episodes": 1}),
        ("agent deleted", {}),
    ],
)
def test_what_happens_to_an_agent(lines, event, fields):
    line = lines.of(event)
    expected = fields | {"agent": lines.agent, "by": "key_admin", "request_id": "one-request"}
    assert {name: line[name] for name in expected} == expected


@pytest.mark.parametrize("event", ["key created", "key revoked"])
def test_what_happens_to_keys(lines, event):
    line = lines.of(event)
    assert (line["key"], line["by"]) == (lines.key["id"], "key_admin")
    assert line["request_id"] == "one-request"


def test_learning_belongs_to_the_request_that_asked_for_it(lines):
    line = lines.of("policy replaced")
    assert (line["agent"], line["request_id"]) == (lines.agent, "one-request")
    assert {"read", "fit", "plan", "commit"} <= set(line["milliseconds"])


def test_secrets_are_never_printed(lines):
    assert SECRET not in lines.output
    assert lines.key["secret"] not in lines.output


@pytest.fixture(scope="module")
def open_server(tmp_path_factory):
    """A server without keys on every address, on which no learning ends in time."""
    with RunningServer(
        tmp_path_factory.mktemp("open"),
        PLAUDIT_HOST="0.0.0.0",
        PLAUDIT_ALLOW_ANYONE="true",
        PLAUDIT_LEARNING_SECONDS="1e-6",
    ) as server:
        yield server


def test_learning_that_failed_says_why(open_server):
    with open_server.client() as client:
        agent = create_agent(client)
        wait_until(lambda: "learning failed" in open_server.output, seconds=120)
    (line, *_) = [line for line in open_server.lines if "learning failed" in line]
    assert " error " in line
    assert f"agent={agent}" in line
    assert 'reason="took longer than' in line


def test_a_server_open_to_everybody_says_so(open_server):
    wait_until(lambda: "keys         off: everybody who can reach it" in open_server.output)


def test_people_are_greeted_in_text(shared_server):
    assert "Plaudit listens on http://" in shared_server.output
    wait_until(lambda: "keys         off: only this machine" in shared_server.output)


class TestALine:
    """One record, formatted."""

    def record(self, message="it happened", exc_info=None, **fields):
        record = logging.makeLogRecord({"msg": message, "levelname": "INFO", "exc_info": exc_info})
        vars(record).update(fields)
        return record

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ("agt_1", "agt_1"),
            (7, "7"),
            ("two words", '"two words"'),
            ("a\nforged line", '"a\\nforged line"'),
            ("\x1b[31m", '"\\u001b[31m"'),
            ({"fit": 1.5}, '{"fit": 1.5}'),
        ],
    )
    def test_text_keeps_to_one_line(self, value, shown):
        line = TextFormatter().format(self.record(field=value))
        assert line.endswith(f"info    it happened  field={shown}")

    def test_an_event_of_several_lines_is_one_line(self):
        assert "a | b" in TextFormatter().format(self.record("a\nb"))

    @pytest.mark.parametrize("harm", ["\r2026-01-01 forged", "\x1b[2J", "\u2028line"])
    def test_an_event_drives_no_terminal(self, harm):
        line = TextFormatter().format(self.record(f"bad request {harm}"))
        assert line.isprintable()

    def test_an_unexpected_error_comes_with_its_traceback(self):
        try:
            raise KeyError("missing")
        except KeyError:
            record = self.record(exc_info=sys.exc_info())
        assert "KeyError: 'missing'" in TextFormatter().format(record)
        as_json = JsonFormatter().format(record)
        assert "\n" not in as_json
        assert json.loads(as_json)["traceback"].endswith("KeyError: 'missing'")
