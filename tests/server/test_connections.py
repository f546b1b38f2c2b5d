"""Limits on connections: too many, too long, too slow. No key is needed to run into them."""

import json
import socket
import time
from contextlib import ExitStack

import httpx
import pytest

from tests.support.running import RunningServer, wait_until

LONGEST = 8000
PER_ADDRESS, IN_ALL = 12, 20
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(
        tmp_path_factory.mktemp("connections"),
        learning=False,
        PLAUDIT_HEADER_BYTES=LONGEST,
        PLAUDIT_HEADER_SECONDS=1,
        PLAUDIT_BODY_SECONDS=1,
        PLAUDIT_KEEP_ALIVE_SECONDS=3,
        PLAUDIT_CONNECTIONS=IN_ALL,
        PLAUDIT_CONNECTIONS_PER_ADDRESS=PER_ADDRESS,
    ) as server:
        yield server


@pytest.fixture
def connect(server):
    """Open connections, from any address of this machine; all are closed afterwards."""
    address = httpx.URL(server.url)
    with ExitStack() as stack:

        def open_one(source="127.0.0.1"):
            goal = (address.host, address.port)
            connection = socket.create_connection(goal, 20, source_address=(source, 0))
            return stack.enter_context(connection)

        yield open_one
    wait_until(lambda: open_connections(server) == 1)  # the one that asks


def open_connections(server):
    with server.client() as client:
        lines = client.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("plaudit_connections "))


def answers(connection):
    """All that comes until the server closes the connection: (status, body) of each response."""
    received = b""
    while part := connection.recv(100_000):
        received += part
    found = []
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ") for line in head.split(b"\r\n")[1:])
        length = int(fields[b"content-length"])
        found.append((int(head.split()[1]), json.loads(rest[:length])))
        received = rest[length:]
    return found


def only_problem(connection):
    ((status, body),) = answers(connection)
    assert body["status"] == status
    return status, body["code"]


def sent_until_closed(connection, part, most, pause=0.0):
    """Send a part again and again; how often that could be done."""
    for number in range(most):
        try:
            connection.sendall(part)
        except OSError:
            return number
        time.sleep(pause)
    return most


class TestHeaders:
    """However they are sent, they are cut off at the limit."""

    @pytest.mark.parametrize(
        "request_",
        [
            GET + b"X: " + b"x" * LONGEST + b"\r\n\r\n",
            GET + b"".join(b"X-%d: %s\r\n" % (i, b"x" * 90) for i in range(100)) + b"\r\n",
            b"GET /healthz?" + b"x" * LONGEST + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\n" + b"x" * LONGEST + b": localhost\r\n\r\n",
            GET + b"\r\n" + GET + b"X: " + b"x" * LONGEST + b"\r\n\r\n",
        ],
        ids=["one", "many", "url", "name", "second request"],
    )
    def test_too_long(self, connect, request_):
        connection = connect()
        connection.sendall(request_)
        *before, (status, body) = answers(connection)
        assert (status, body["code"]) == (431, "headers_too_large")
        assert "PLAUDIT_HEADER_BYTES" in body["detail"]
        assert [status for status, _ in before] in ([], [200])

    def test_just_short_enough(self, connect):
        connection = connect()
        connection.sendall(GET + b"Connection: close\r\nX: " + b"x" * (LONGEST - 100) + b"\r\n\r\n")
        assert [status for status, _ in answers(connection)] == [200]

    def test_a_large_body_in_the_same_packets_is_no_header(self, server):
        body = {"name": "x" * 50_000}
        answer = httpx.post(f"{server.url}/v1/keys", json=body)
        assert answer.status_code == 422

    def test_without_an_end(self, connect):
        """The server does not read more than the limit and what one packet holds."""
        connection = connect()
        connection.sendall(GET + b"X: ")
        assert sent_until_closed(connection, b"x" * 10_000, 5000) < 1000

    def test_trailers_are_headers_too(self, connect):
        connection = connect()
        connection.sendall(
            b"POST /v1/keys HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: " + b"x" * LONGEST
        )
        time.sleep(0.2)  # the next packet has no end of the body in it
        connection.sendall(b"x" * LONGEST)
        connection.sendall(b"x")
        assert only_problem(connection) == (431, "headers_too_large")


class TestSlowClients:
    """A connection that nothing comes from is closed."""

    @pytest.mark.parametrize(
        "start",
        [
            b"",
            b"GET /heal",
            GET + b"X: ",
            b"\r\n",
            b"POST /v1/keys HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b'Content-Length: 100\r\n\r\n{"name": ',
        ],
        ids=["nothing", "line", "header", "blank lines", "body"],
    )
    def test_half_a_request(self, connect, start):
        connection, began = connect(), time.monotonic()
        connection.sendall(start)
        assert only_problem(connection) == (408, "too_slow")
        assert 0.9 < time.monotonic() - began < 10

    def test_one_byte_at_a_time(self, connect):
        connection = connect()
        connection.sendall(GET)
        assert sent_until_closed(connection, b"x", 300, pause=0.1) < 100

    def test_a_body_that_keeps_coming_has_its_time(self, connect):
        connection, parts = connect(), 4
        connection.sendall(
            b"POST /v1/keys HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n" % (parts * 3000)
        )
        for _ in range(parts):
            connection.sendall(b" " * 3000)
            time.sleep(0.8)
        ((status, _),) = answers(connection)
        assert status == 422

    def test_kept_alive_for_a_while(self, connect):
        connection = connect()
        for _ in range(2):
            connection.sendall(GET + b"\r\n")
            time.sleep(2)  # longer than headers may take
        began = time.monotonic()
        assert [status for status, _ in answers(connection)] == [200, 200]
        assert time.monotonic() - began < 10

    def test_an_answer_that_nobody_reads(self, server, connect):
        connection = connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection.settimeout(1)  # the server stops to read, too
        assert sent_until_closed(connection, request, 100_000) < 100_000
        wait_until(lambda: open_connections(server) == 1, seconds=20)


class TestHowMany:
    def test_from_one_address(self, server, connect):
        connections = [connect() for _ in range(PER_ADDRESS)]
        refused = connect()
        ((status, body),) = answers(refused)
        assert (status, body["code"]) == (503, "overloaded")
        assert "PLAUDIT_CONNECTIONS_PER_ADDRESS" in body["detail"]
        other = connect("127.0.0.2")
        other.sendall(GET + b"Connection: close\r\n\r\n")
        assert [status for status, _ in answers(other)] == [200]
        connections[0].close()
        wait_until(lambda: httpx.get(f"{server.url}/healthz").status_code == 200)

    def test_in_all(self, connect):
        for i in range(IN_ALL):
            connect(f"127.0.1.{1 + i % 5}")
        refused = connect("127.0.0.9")
        ((status, body),) = answers(refused)
        assert (status, body["code"]) == (503, "overloaded")
        assert "PLAUDIT_CONNECTIONS)" in body["detail"]

    def test_they_are_counted(self, server):
        text = httpx.get(f"{server.url}/metrics").text
        assert 'plaudit_connections_refused_total{code="overloaded"}' in text


def test_requests_behind_each_other_are_all_answered(connect):
    connection = connect()
    connection.sendall(3 * (GET + b"\r\n") + GET + b"Connection: close\r\n\r\n")
    assert [status for status, _ in answers(connection)] == [200] * 4


def test_what_is_no_http_is_told_so(connect):
    connection = connect()
    connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
    assert only_problem(connection) == (400, "bad_request")


def test_nothing_of_this_is_an_error_of_the_server(server):
    assert "Traceback" not in server.output, server.output
    assert " error " not in server.output
