"""kill -9 under load, again and again: everything that was acknowledged is there afterwards."""

import random
import time

import pytest

from tests.support.crowd import Keeper, Player, playing
from tests.support.databases import execute, on_postgres
from tests.support.running import RunningServer, create_agent, wait_until

KEY = "the-operator-has-this-key"
KILLS = 30
PLAYERS = 4


def crash(server, kills):
    """Kill a server under load; everything that was acknowledged and lost, and the crowd."""
    luck = random.Random(1)
    server.start()
    with server.client(KEY) as client:
        agents = [create_agent(client, name=name) for name in ("one", "two")]
    crowd = [*(Player(agents[seed % 2], seed) for seed in range(PLAYERS)), Keeper()]
    for kill in range(kills):
        with playing(server, crowd, KEY):
            enough = acknowledged(crowd) + luck.randint(5, 60)
            wait_until(lambda enough=enough: acknowledged(crowd) >= enough, pause=0.001)
            time.sleep(luck.uniform(0.0, 0.02))
            server.kill()
        server.start()
        with server.client(KEY) as client:
            everything = kill == kills - 1
            lost = [loss for one in crowd for loss in one.lost(client, everything)]
        if lost:
            return lost, crowd
    return [], crowd


def acknowledged(crowd):
    return sum(one.acknowledged for one in crowd)


@pytest.fixture
def forked(tmp_path):
    servers = []

    def make(**options):
        servers.append(RunningServer(tmp_path, PLAUDIT_ADMIN_KEY=KEY, learning=False, **options))
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


@pytest.mark.parametrize("kills", [5, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_nothing_acknowledged_is_lost_by_kill_9(forked, kills):
    server = forked()
    lost, crowd = crash(server, kills)
    assert lost == []
    *players, keeper = crowd
    records = [record for player in players for record in player.records]
    assert acknowledged(players) > 5 * kills  # there was something to lose
    assert any(record.label is not None for record in records)
    assert keeper.keys
    with server.client(KEY) as client:
        views = client.get("/v1/agents").json()["items"]
    # One start each may have been stored and not yet answered.
    started = sum(sum(view["episodes"].values()) for view in views)
    assert len(records) <= started <= len(records) + PLAYERS
    if not on_postgres():
        assert execute(server.folder, "PRAGMA integrity_check") == [("ok",)]


def test_a_server_that_acknowledges_before_the_commit_is_caught(forked):
    lost, _ = crash(forked(early=True), KILLS)
    assert lost
