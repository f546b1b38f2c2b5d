"""A database file that is moved, deleted or replaced, and a disk that takes no writes."""

import os
import signal
import sqlite3

import pytest

from tests.server.test_faults import locked, no_room
from tests.support.running import (
    STATES,
    RunningServer,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
    wait_until,
)

pytestmark = pytest.mark.sqlite


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("file")) as server:
        yield server


@pytest.fixture
def client(server):
    with server.client() as client:
        wait_until(lambda: client.get("/readyz").status_code == 200, seconds=300)
        yield client


def not_ready(client):
    answer = client.get("/readyz")
    return answer.json()["reason"] if answer.status_code == 503 else None


class Moved:
    """Take a file away, and perhaps put another in its place, as an operator might."""

    def __init__(self, path, replacement=None):
        self._path, self._replacement = path, replacement
        self._aside = path.with_name(path.name + ".aside")

    def __enter__(self):
        self._path.rename(self._aside)
        if self._replacement is not None:
            self._path.write_bytes(self._replacement)

    def __exit__(self, *_):
        self._aside.rename(self._path)


def moved(server):
    return Moved(server.database)


def replaced_by_a_copy(server):
    return Moved(server.database, server.database.read_bytes())


def replaced_by_nothing(server):
    return Moved(server.database, b"")


def log_moved(server):
    return Moved(server.database.with_name(server.database.name + "-wal"))


@pytest.mark.parametrize("trouble", [moved, replaced_by_a_copy, replaced_by_nothing, log_moved])
def test_nothing_is_acknowledged_until_the_file_is_back(server, client, trouble):
    agent = create_agent(client)
    episode = start_episode(client, agent)
    play(client, episode, STATES[:2])
    wait_learned(client, agent)
    with trouble(server):
        step = {"state": 2, "step": 2}
        for answer in (
            client.post(f"/v1/episodes/{episode}/steps", json=step),
            client.post("/v1/keys", json={"name": "a", "role": "viewer"}),
            client.get("/v1/agents"),
        ):
            problem = assert_problem(answer, 503, "storage_unavailable")
            assert "moved, deleted or replaced" in problem["detail"]
        assert "moved, deleted or replaced" in wait_until(lambda: not_ready(client))
        if trouble is moved:
            assert not server.database.exists()  # no empty file in its way
    assert client.post(f"/v1/episodes/{episode}/steps", json=step).status_code == 200
    assert client.post(f"/v1/episodes/{episode}/finish", json={"state": 3}).status_code == 200
    assert client.post(f"/v1/episodes/{episode}/label", json={"label": 1}).status_code == 200
    view = wait_learned(client, agent)
    assert (view["learning"], view["learning_error"]) == ("idle", None)
    wait_until(lambda: not_ready(client) is None)
    with sqlite3.connect(server.database) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


def test_learning_goes_on_once_the_file_is_back(server, client):
    agent = create_agent(client)
    play(client, start_episode(client, agent), STATES, label=1)
    wait_learned(client, agent)
    episode = start_episode(client, agent)
    play(client, episode, STATES)
    with server.stopped_learner(client) as pid:
        assert client.post(f"/v1/episodes/{episode}/label", json={"label": 0}).status_code == 200
        wait_until(lambda: client.get(f"/v1/agents/{agent}").json()["learning"] == "running")
        seen = len(server.lines)
        with Moved(server.database):
            os.kill(pid, signal.SIGCONT)
            wait_until(lambda: "learning waits" in "".join(server.lines[seen:]))
    view = wait_learned(client, agent)
    assert (view["learning"], view["learning_error"]) == ("idle", None)
    assert "Traceback" not in server.output


@pytest.mark.parametrize(
    ("trouble", "reason"), [(no_room, "could not be stored"), (locked, "is locked")]
)
def test_a_disk_that_takes_no_writes_is_not_ready(server, client, trouble, reason):
    with trouble(server):
        assert reason in wait_until(lambda: not_ready(client))
        assert client.get("/healthz").status_code == 200
    wait_until(lambda: not_ready(client) is None)
    assert client.get("/readyz").json()["reason"] is None


def test_a_second_server_is_refused_through_a_symlink_too(server, tmp_path):
    (tmp_path / "plaudit.db").symlink_to(server.database)
    (tmp_path / "folder").symlink_to(server.folder)
    for folder in (tmp_path, tmp_path / "folder"):
        second = RunningServer(folder)
        with pytest.raises(RuntimeError, match="another server is using this database"):
            second.start()
        assert second.wait() == 2
