"""Starting a server: what it listens on, and what keeps it from starting."""

import socket
import subprocess
import sys

import pytest

from app.errors import UnsafeStart
from app.server import bind
from tests.support import template
from tests.support.running import RunningServer, wait_until


def test_a_port_that_is_taken_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = RunningServer(tmp_path, PLAUDIT_PORT=port)
        done = template.run(["serve"], server.environment)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error cannot listen on 127.0.0.1 port {port}: Address already")
    assert "PLAUDIT_PORT" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_that_nobody_knows_is_named():
    with pytest.raises(UnsafeStart, match=r"cannot listen on nowhere\.invalid port 80: "):
        bind("nowhere.invalid", 80)


def test_every_address_of_a_name_gets_the_same_port():
    sockets = bind("localhost", 0)
    try:
        assert len({listener.getsockname()[1] for listener in sockets}) == 1
        assert {listener.getsockname()[0] for listener in sockets} <= {"127.0.0.1", "::1"}
    finally:
        for listener in sockets:
            listener.close()


def test_settings_that_nobody_knows_get_a_line(start_server):
    server = start_server(PLAUDIT_SERVICE_HOST="10.0.0.1")
    wait_until(lambda: "unknown setting  variable=PLAUDIT_SERVICE_HOST" in server.output)


def test_the_command_itself_serves_until_it_is_told_to_stop(tmp_path):
    """Not forked, as all other servers of these tests are."""
    environment = RunningServer(tmp_path).environment
    command = [sys.executable, "-m", "app.cli", "serve"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert "listens on http://127.0.0.1:" in process.stdout.readline()
        process.terminate()
        process.stdout.read()
    assert process.returncode == 0
