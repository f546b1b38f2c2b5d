"""SIGTERM and Ctrl-C under load: what is under way is answered, nothing acknowledged is lost."""

import signal
import threading
import time
from datetime import datetime

import httpx
import pytest

from tests.support.crowd import Keeper, Player, playing
from tests.support.running import RunningServer, create_agent, play, start_episode, wait_until

KEY = "the-operator-has-this-key"
DRAIN_SECONDS = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shutdown")
    server = RunningServer(
        folder,
        PLAUDIT_ADMIN_KEY=KEY,
        PLAUDIT_DRAIN_SECONDS=DRAIN_SECONDS,
        PLAUDIT_WAIT_SECONDS=2,
    )
    yield server
    server.stop()


@pytest.fixture
def started(server):
    return server.start()


def seconds_to_stop(server):
    """From being told to having stopped, as the log has it."""
    times = [
        datetime.fromisoformat(line.split()[0])
        for line in server.lines
        if line.endswith((" stopping\n", " stopped\n"))
    ]
    stopping, stopped = times
    return (stopped - stopping).total_seconds()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
def test_a_server_under_load_stops_well_and_loses_nothing(server, started, how):
    with server.client(KEY) as client:
        agents = [create_agent(client) for _ in range(2)]
    crowd = [*(Player(agents[seed % 2], seed) for seed in range(4)), Keeper()]
    with playing(server, crowd, KEY):
        wait_until(lambda: sum(one.acknowledged for one in crowd) > 100)
        assert server.end(how) == 0
    assert "Traceback" not in server.output
    assert "rror" not in server.output
    assert seconds_to_stop(server) < DRAIN_SECONDS / 2
    server.start()
    with server.client(KEY) as client:
        assert [loss for one in crowd for loss in one.lost(client, everything=True)] == []
    assert server.end(how) == 0


def test_an_open_stream_of_events_ends_and_delays_nothing(server, started):
    with server.client(KEY) as client:
        agent = create_agent(client)
        opened, lines = threading.Event(), []

        def listen():
            with (
                server.client(KEY) as listener,
                listener.stream("GET", f"/v1/agents/{agent}/events") as stream,
            ):
                opened.set()
                lines.extend(stream.iter_lines())

        listening = threading.Thread(target=listen)
        listening.start()
        assert opened.wait(60)
        play(client, start_episode(client, agent, wait=False), [0, 1, 2, 3, 3], label=1)
        assert server.end(signal.SIGTERM) == 0
        listening.join(60)
    assert not listening.is_alive()
    assert any(line.startswith("event:") for line in lines)
    assert "Traceback" not in server.output
    assert seconds_to_stop(server) < DRAIN_SECONDS / 2


def test_a_server_that_stops_answers_who_waits_for_learning(server, started):
    """Learning does not get on: the start of an episode waits for it."""
    answers = []
    with server.client(KEY) as client, server.stopped_learner(client):
        agent = create_agent(client)

        def start():
            answers.append(client.post(f"/v1/agents/{agent}/episodes", json={}).status_code)

        waiting = threading.Thread(target=start)
        waiting.start()
        time.sleep(0.5)  # on its way
        assert server.end(signal.SIGTERM) == 0
        waiting.join(60)
    assert answers == [201]
    assert "Traceback" not in server.output


@pytest.mark.sqlite
def test_a_stopped_server_lets_go_of_its_database(server, started):
    assert server.end(signal.SIGTERM) == 0
    with pytest.raises(httpx.ConnectError), server.client(KEY) as client:
        client.get("/healthz")
    left = sorted(path.name for path in server.folder.iterdir())
    assert left == ["plaudit.db", "plaudit.db.lock"]  # the log was written back into the file
