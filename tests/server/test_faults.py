"""What goes wrong around the server: locks, full disks, dead processes, wrong clocks, bad files."""

import os
import re
import resource
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from app.errors import UnsafeStart
from app.storage.database import prepare_database
from app.storage.schema import agents
from tests.support import template
from tests.support.databases import database_url, execute, held_in
from tests.support.running import (
    LAKE,
    RunningServer,
    create_agent,
    play,
    start_episode,
    wait_learned,
    wait_until,
)

STATES = [0, 1, 2, 3, 3]
LEARNING_SECONDS = 5


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server that learns, and forgets soon what nobody uses."""
    with RunningServer(
        tmp_path_factory.mktemp("faults"),
        PLAUDIT_LEARNING_SECONDS=LEARNING_SECONDS,
        PLAUDIT_WAIT_SECONDS=300,
        PLAUDIT_IDLE_SECONDS=1,
    ) as server:
        yield server


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A server without learning whose clock can be moved by writing to `bare.clock`."""
    folder = tmp_path_factory.mktemp("bare")
    clock = folder / "clock"
    clock.write_text("0")
    with RunningServer(folder, learning=False, clock=clock) as server:
        server.clock = clock
        yield server


@contextmanager
def locked(server):
    """Another process is in the middle of a long transaction."""
    with held_in(server.folder):
        yield


@contextmanager
def no_room(server):
    """Nothing more can be written to any file."""
    _, most = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, most))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (most, most))


def assert_unavailable(answer):
    assert answer.status_code == 503, answer.text
    assert answer.json()["code"] == "storage_unavailable"
    assert int(answer.headers["Retry-After"]) > 0


@pytest.mark.parametrize("trouble", [locked, pytest.param(no_room, marks=pytest.mark.sqlite)])
def test_what_cannot_be_stored_is_refused_and_can_be_sent_again(server, client, trouble):
    agent = create_agent(client)
    ended, running = start_episode(client, agent), start_episode(client, agent)
    play(client, ended, STATES)
    actions = play(client, running, STATES[:2])
    requests = [
        (f"/v1/agents/{agent}/episodes", {"wait": False}),
        (f"/v1/episodes/{running}/steps", {"state": 0, "step": 2}),
        (f"/v1/episodes/{ended}/label", {"label": 0}),
        ("/v1/keys", {"name": "robot", "role": "viewer"}),
        ("/v1/agents", LAKE),
    ]
    with trouble(server), ThreadPoolExecutor(len(requests)) as threads:
        answers = threads.map(lambda request: client.post(request[0], json=request[1]), requests)
        for answer in answers:
            assert_unavailable(answer)
        assert_unavailable(client.post(f"/v1/episodes/{running}/finish", json={"state": 3}))
        # Reading goes on, and shows nothing of what was refused.
        shown = client.get(f"/v1/episodes/{running}").json()
        assert [step["action"] for step in shown["steps"]] == actions
        assert shown["status"] == "running"
        assert client.get(f"/v1/episodes/{ended}").json()["label"] is None
        view = client.get(f"/v1/agents/{agent}").json()
        assert (view["episodes"]["running"], view["episodes"]["awaiting_label"]) == (1, 1)
    # The refused step left no trace: another state may be sent, and the refused label replaced.
    answer = client.post(f"/v1/episodes/{running}/steps", json={"state": 1, "step": 2})
    assert answer.status_code == 200, answer.text
    assert client.post(f"/v1/episodes/{running}/finish", json={"state": 3}).status_code == 200
    for episode in (ended, running):
        given = client.post(f"/v1/episodes/{episode}/label", json={"label": 1})
        assert given.status_code == 200, given.text
    play(client, start_episode(client, agent), STATES, label=1)
    view = wait_learned(client, agent)
    assert (view["learning"], view["episodes"]["labelled"]) == ("idle", 3)
    assert view["episodes"]["running"] == 0


@pytest.mark.parametrize("trouble", [locked, pytest.param(no_room, marks=pytest.mark.sqlite)])
def test_what_was_learned_is_stored_once_that_is_possible(server, client, trouble):
    agent = create_agent(client)
    play(client, start_episode(client, agent), STATES, label=1)
    before = wait_learned(client, agent)["policy_version"]
    episode = start_episode(client, agent)
    play(client, episode, STATES)
    with server.stopped_learner(client) as pid:
        assert client.post(f"/v1/episodes/{episode}/label", json={"label": 0}).status_code == 200
        wait_until(lambda: client.get(f"/v1/agents/{agent}").json()["learning"] == "running")
        seen = len(server.lines)
        with trouble(server):
            os.kill(pid, signal.SIGCONT)
            wait_until(lambda: "learning waits" in "".join(server.lines[seen:]))
            assert client.get(f"/v1/agents/{agent}").json()["policy_version"] == before
    view = wait_learned(client, agent)
    assert (view["learning"], view["learning_error"]) == ("idle", None)
    assert view["policy_version"] > before


def test_an_episode_that_starts_while_a_policy_is_replaced_keeps_its_own(server, client):
    agent = create_agent(client)
    play(client, start_episode(client, agent), STATES, label=1)
    before = wait_learned(client, agent)["policy_version"]
    episode = start_episode(client, agent)
    play(client, episode, STATES)
    with server.stopped_learner(client) as pid:
        client.post(f"/v1/episodes/{episode}/label", json={"label": 0})
        wait_until(lambda: client.get(f"/v1/agents/{agent}").json()["learning"] == "running")
        with ThreadPoolExecutor(1) as threads:
            with locked(server):  # shorter than it waits for
                os.kill(pid, signal.SIGCONT)
                time.sleep(1.0)  # the new plans are on their way to the disk
                starting = threads.submit(start_episode, client, agent, wait=False)
                time.sleep(0.5)
            started = starting.result()
    assert client.get(f"/v1/episodes/{started}").json()["policy_version"] == before
    assert wait_learned(client, agent)["policy_version"] > before
    server.kill()
    server.start()
    with server.client() as again:
        assert len(play(again, started, STATES)) == len(STATES)


@pytest.mark.sqlite
def test_a_disk_that_is_really_full(tmp_path):
    """On a small file system of its own, where one can be made."""
    size = 2_000_000
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", tmp_path], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("a file system can only be made by root")
    try:
        with RunningServer(tmp_path, learning=False) as server, server.client() as client:
            agent = create_agent(client)
            episode = start_episode(client, agent, wait=False)
            play(client, episode, STATES[:1])
            ballast = tmp_path / "ballast"
            fill(ballast)
            full = wait_until(lambda: _first_refused(client, agent))
            assert_unavailable(full)
            count = client.get(f"/v1/agents/{agent}").json()["episodes"]["running"]
            ballast.unlink()
            play(client, start_episode(client, agent, wait=False), STATES, label=1)
            view = client.get(f"/v1/agents/{agent}").json()
            assert (view["episodes"]["running"], view["episodes"]["labelled"]) == (count, 1)
            server.kill()
            server.start()
            with server.client() as again:
                assert len(again.get(f"/v1/episodes/{episode}").json()["steps"]) == 1
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def fill(file):
    """Write until there is no room."""
    with file.open("wb", buffering=0) as open_file, suppress(OSError):
        while True:
            open_file.write(bytes(4096))


def _first_refused(client, agent):
    """There may be room for a few more in pages that exist already."""
    answer = client.post(f"/v1/agents/{agent}/episodes", json={"wait": False})
    return None if answer.status_code == 201 else answer


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (True, r"the learning process died \(exit code -9\)"),
        (False, f"took longer than the {LEARNING_SECONDS} s that learning may take"),
    ],
    ids=["killed", "too slow"],
)
def test_learning_that_fails_keeps_the_last_policy_and_is_tried_again(server, client, end, reason):
    agent = create_agent(client)
    play(client, start_episode(client, agent), STATES, label=1)
    before = wait_learned(client, agent)
    episode = start_episode(client, agent)
    play(client, episode, STATES)
    with server.stopped_learner(client) as pid:
        client.post(f"/v1/episodes/{episode}/label", json={"label": 0})
        wait_until(lambda: client.get(f"/v1/agents/{agent}").json()["learning"] == "running")
        if end:
            os.kill(pid, signal.SIGKILL)
        view = wait_until(lambda: _failed(client, agent))
    assert re.fullmatch(reason, view["learning_error"])
    assert view["policy_version"] == before["policy_version"]
    started = client.post(f"/v1/agents/{agent}/episodes", json={}).json()
    assert started["policy_version"] == before["policy_version"]
    play(client, started["id"], STATES, label=1)
    after = wait_learned(client, agent)
    assert (after["learning"], after["learning_error"]) == ("idle", None)
    assert after["policy_version"] > before["policy_version"]
    assert after["episodes"]["labelled"] == 3


def _failed(client, agent):
    view = client.get(f"/v1/agents/{agent}").json()
    return view if view["learning"] == "failed" else None


def test_what_left_memory_comes_back_and_goes_on_with_the_same_actions(server, client):
    agents = [create_agent(client, seed=23) for _ in range(2)]
    for agent in agents:
        play(client, start_episode(client, agent), STATES, label=1)
    episodes = [start_episode(client, agent) for agent in agents]
    expected = play(client, episodes[0], STATES, label=0)
    actions = []
    for step, state in enumerate(STATES):
        wait_until(lambda: gauges(client)["episodes_loaded"] == 0)
        wait_until(lambda: gauges(client)["agents_loaded"] == 0)
        body = {"state": state, "step": step}
        answer = client.post(f"/v1/episodes/{episodes[1]}/steps", json=body)
        actions.append(answer.json()["action"])
        assert gauges(client)["agents_loaded"] == 1
    assert actions == expected
    wait_until(lambda: gauges(client)["agents_loaded"] == 0)
    assert client.post(f"/v1/episodes/{episodes[1]}/label", json={"label": 0}).status_code == 200
    views = [wait_learned(client, agent) for agent in agents]
    assert views[0]["policy_version"] == views[1]["policy_version"]
    assert views[0]["plan"]["value"] == views[1]["plan"]["value"]


def gauges(client):
    lines = client.get("/metrics").text.splitlines()
    found = dict(line.split() for line in lines if re.match(r"plaudit_\w+ ", line))
    return {name.removeprefix("plaudit_"): float(value) for name, value in found.items()}


def test_ten_thousand_agents_are_not_loaded_before_they_are_used(bare):
    with bare.client() as client:
        agent = create_agent(client)
        before = len(client.get("/v1/agents?limit=500").json()["items"])
    bare.end(signal.SIGTERM)
    columns = [column.name for column in agents.c]
    own = {"id": "number", "position": "1000000 + number", "name": "'agent ' || number"}
    values = ", ".join(own.get(name, name) for name in columns)
    execute(
        bare.folder,
        "WITH RECURSIVE numbers(number) AS "
        "(SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 10000) "
        f"INSERT INTO agents ({', '.join(columns)}) SELECT {values} FROM numbers, "
        "(SELECT * FROM agents ORDER BY position DESC LIMIT 1) AS last",
    )
    bare.start()
    with bare.client() as client:
        assert gauges(client)["agents_loaded"] == 0
        found, params = 0, {"limit": 500}
        while params.get("cursor", "") is not None:
            page = client.get("/v1/agents", params=params).json()
            found, params = found + len(page["items"]), {"limit": 500, "cursor": page["next"]}
        assert found == before + 10_000
        play(client, start_episode(client, agent, wait=False), STATES, label=1)
        assert gauges(client)["agents_loaded"] == 1


def test_a_clock_that_is_set_back_changes_no_order_and_no_label_comes_early(bare):
    with bare.client() as client:
        agent = create_agent(client, label_timeout="PT1H", default_label=0)
        episodes = []
        for wrong in (0, -7200, -86400):  # seconds
            bare.clock.write_text(str(wrong))
            episodes.append(start_episode(client, agent, wait=False))
            play(client, episodes[-1], STATES)
        times = [client.get(f"/v1/episodes/{one}").json()["created_at"] for one in episodes]
        assert times == sorted(times, reverse=True)  # the clock did go back
        for order, expected in (("oldest", episodes), ("newest", episodes[::-1])):
            page = client.get(f"/v1/episodes?agent={agent}&order={order}").json()
            assert [item["id"] for item in page["items"]] == expected
        other = start_episode(client, create_agent(client), wait=False)  # two days "earlier"
        page = client.get("/v1/episodes?order=newest&limit=2").json()
        rest = client.get(f"/v1/episodes?order=newest&limit=2&cursor={page['next']}").json()
        newest = [item["id"] for item in page["items"] + rest["items"]]
        assert newest == [other, *episodes[::-1]]
        client.put(f"/v1/episodes/{episodes[0]}/label", json={"label": 1})
        bare.clock.write_text("-172800")
        client.put(f"/v1/episodes/{episodes[0]}/label", json={"label": 0})
        client.put(f"/v1/episodes/{episodes[0]}/label", json={"label": 1})
        shown = client.get(f"/v1/episodes/{episodes[0]}").json()
        assert [one["label"] for one in shown["labels"]] == [1, 0, 1]
        assert shown["label"] == 1
        # Labels fall due by the clock: once it is right again the last two are overdue.
        sweeps = 1.5
        with pytest.raises(AssertionError):
            wait_until(lambda: labels(client, episodes) != [1, None, None], seconds=sweeps)
        bare.clock.write_text("0")
        wait_until(lambda: labels(client, episodes) == [1, 0, 0])
        given = client.get(f"/v1/episodes/{episodes[1]}").json()["labels"]
        assert [one["labeller"] for one in given] == ["timeout"]


def labels(client, episodes):
    return [client.get(f"/v1/episodes/{one}").json()["label"] for one in episodes]


def test_a_second_server_on_the_same_database_is_refused(bare):
    second = RunningServer(bare.folder)
    with pytest.raises(RuntimeError, match="another server is using this database"):
        second.start()
    assert second.wait() == 2
    assert "Traceback" not in second.output
    with bare.client() as client:
        assert client.get("/healthz").status_code == 200


def garbage(path):
    path.write_bytes(b"this is no database at all. " * 1000)


def torn(path):
    """The first page is whole and the rest is not."""
    prepare_database(f"sqlite:///{path}")
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))


def folder(path):
    path.mkdir()


@pytest.mark.sqlite
@pytest.mark.parametrize("spoil", [garbage, torn, folder])
def test_a_database_that_cannot_be_read_is_named_and_left_alone(tmp_path, spoil):
    path = tmp_path / "plaudit.db"
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(UnsafeStart, match=f"{path} cannot be opened: ") as refused:
        prepare_database(f"sqlite:///{path}")
    assert "\n" not in str(refused.value)
    assert before is None or path.read_bytes() == before


def test_a_database_of_a_newer_version_is_refused(tmp_path):
    url = database_url(tmp_path)
    prepare_database(url)
    execute(tmp_path, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(UnsafeStart, match="a newer version made the database"):
        prepare_database(url)


@pytest.mark.sqlite
def test_the_command_says_in_one_line_that_a_database_cannot_be_read(tmp_path):
    server = RunningServer(tmp_path)
    garbage(server.database)
    with pytest.raises(RuntimeError, match="file is not a database"):
        server.start()
    assert server.wait() == 2
    assert "Traceback" not in server.output
    listed = template.run(["keys", "list"], server.environment)
    assert (listed.returncode, listed.stdout) == (2, "")
    assert listed.stderr == "error the database cannot be used: file is not a database\n"
