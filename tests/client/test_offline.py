"""Agents away from the network: policies in a folder, episodes uploaded exactly once."""

import json
import subprocess
import sys
from contextlib import suppress

import pytest

import plaudit
from plaudit.offline.agent import SENT
from tests.client.faulty import LOSE_ANSWER, LOSE_REQUEST, FaultyProxy
from tests.support.running import LAKE

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def client(shared_server):
    with plaudit.Client(shared_server.url) as client:
        yield client


@pytest.fixture
def agent(client):
    found = client.agent("away", **{k: LAKE[k] for k in ("states", "actions", "horizon")}, seed=5)
    yield found
    found.delete()


def play(offline, label=None, states=(0, 1, 2)):
    """Play an episode; its actions."""
    with offline.episode() as episode:
        actions = [episode.act(state) for state in states]
        episode.finish(3)
        if label is not None:
            episode.label(label)
    return actions


def served(agent, states=(0, 1, 2)):
    """The actions of the server in the next episode."""
    with agent.episode() as episode:
        return [episode.act(state) for state in states]


def stored(agent):
    return [(line.external_id, line.label, line.actions, line.status) for line in agent.export()]


def test_the_actions_are_the_servers(agent, tmp_path):
    for label in (1, 0, 1):
        with agent.episode() as episode:
            episode.act(0)
            episode.finish(3, label=label)
    agent.wait_until_learned()
    offline = agent.offline(tmp_path)
    assert play(offline) == served(agent)


def test_episodes_are_uploaded_once_and_learned(agent, tmp_path):
    offline = agent.offline(tmp_path)
    actions = [play(offline, 1), play(offline, 0), play(offline)]
    assert len(offline.waiting) == 3
    assert stored(agent) == []
    names = offline.waiting
    synced = offline.sync()
    assert (synced.online, synced.uploaded, synced.waiting, synced.rejected) == (True, 3, 0, 0)
    statuses = ["labelled", "labelled", "awaiting_label"]
    assert stored(agent) == list(zip(names, [1, 0, None], actions, statuses, strict=True))
    assert offline.sync().uploaded == 0
    assert len(stored(agent)) == 3


def test_a_folder_is_opened_without_a_server(agent, tmp_path):
    online = agent.offline(tmp_path)
    first = play(online, 1)
    with plaudit.Client(NOWHERE, patience=0) as nowhere:
        away = nowhere.offline(tmp_path)
        second = play(away, 0)
        synced = away.sync()
    assert (synced.online, synced.waiting) == (False, 2)
    assert online.sync().uploaded == 2
    assert [actions for _, _, actions, _ in stored(agent)] == [first, second]


def test_each_episode_has_luck_of_its_own_also_after_a_restart(client, tmp_path):
    agent = client.agent("luck", states=4, actions=2, horizon=3, algorithm="uniform")
    one = agent.offline(tmp_path / "one")
    without = [play(one, states=[0] * 3) for _ in range(8)]
    agent.offline(tmp_path / "two")
    restarted = [play(client.offline(tmp_path / "two"), states=[0] * 3) for _ in range(8)]
    assert without == restarted
    assert len({tuple(actions) for actions in without}) > 1
    agent.delete()


@pytest.mark.parametrize("fault", [LOSE_ANSWER, LOSE_REQUEST])
def test_a_lost_answer_stores_nothing_twice(agent, shared_server, tmp_path, fault):
    agent.offline(tmp_path)
    with FaultyProxy(shared_server.url) as proxy, plaudit.Client(proxy.url, patience=0) as client:
        offline = client.offline(tmp_path)
        play(offline, 1)
        proxy.faults.append(fault)
        assert offline.sync().online is False
        assert offline.sync().waiting == 0
    assert len(stored(agent)) == 1


def test_an_upload_that_was_tried_is_looked_up_before_it_is_sent_again(agent, tmp_path):
    """The server may have forgotten the idempotency key; the external id stays."""
    offline = agent.offline(tmp_path)
    play(offline)
    (name,) = offline.waiting
    kept = (tmp_path / "waiting" / f"{name}.json").read_text()
    assert offline.sync().uploaded == 1
    episode = json.loads(kept) | {SENT: True, "label": 1}  # labelled after the lost answer
    (tmp_path / "waiting" / f"{name}.json").write_text(json.dumps(episode))
    assert offline.sync().waiting == 0
    assert [(found, label) for found, label, *_ in stored(agent)] == [(name, 1)]


def test_leaving_early_stores_an_abandoned_episode(agent, tmp_path):
    offline = agent.offline(tmp_path)
    with suppress(ZeroDivisionError), offline.episode() as episode:
        episode.act(0)
        raise ZeroDivisionError
    offline.sync()
    assert [status for *_, status in stored(agent)] == ["abandoned"]


def test_a_label_may_come_later_until_the_upload(agent, tmp_path):
    offline = agent.offline(tmp_path)
    with offline.episode() as episode:
        episode.act(0)
        episode.finish(3)
    episode.label(True)
    offline.sync()
    assert [label for _, label, *_ in stored(agent)] == [1]
    with pytest.raises(plaudit.InvalidArgument, match="was uploaded"):
        episode.label(False)


def test_without_a_policy_the_fallback_acts(agent, tmp_path):
    agent.offline(tmp_path)
    (tmp_path / "policy.json").unlink()
    with plaudit.Client(NOWHERE, patience=0) as nowhere:
        assert play(nowhere.offline(tmp_path, fallback=1), 0) == [1, 1, 1]
        with pytest.raises(plaudit.NoPolicy, match="fallback"):
            nowhere.offline(tmp_path).episode()
    assert agent.offline(tmp_path).policy_version is not None


def test_what_the_server_refuses_is_put_aside_and_holds_up_nothing(agent, tmp_path):
    offline = agent.offline(tmp_path)
    play(offline, 1)
    (name,) = offline.waiting
    path = tmp_path / "waiting" / f"{name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"actions": [99, 0, 0]}))
    play(offline, 1)
    synced = offline.sync()
    assert (synced.uploaded, synced.waiting, synced.rejected) == (1, 0, 1)
    reason = json.loads((tmp_path / "rejected" / f"{name}.reason.json").read_text())["reason"]
    assert "action" in reason


def test_a_full_folder_refuses_another_episode_and_loses_none(agent, tmp_path):
    offline = agent.offline(tmp_path, most_bytes=50)
    play(offline, 1)
    with pytest.raises(plaudit.SpoolFull, match=r"sync\(\)"):
        offline.episode()
    assert offline.sync().uploaded == 1
    play(offline, 1)


def test_a_disk_that_cannot_be_written_keeps_the_episode_in_memory(agent, tmp_path):
    offline = agent.offline(tmp_path)
    episode = offline.episode()
    episode.act(0)
    episode.finish(3)
    waiting = tmp_path / "waiting"
    waiting.rmdir()
    with pytest.raises(plaudit.SpoolFull, match=r"save\(\)"):
        episode.save()
    waiting.mkdir()
    episode.save()
    assert offline.sync().uploaded == 1


def test_a_folder_belongs_to_one_agent(agent, client, tmp_path):
    agent.offline(tmp_path)
    other = client.agent("other", states=2, actions=2, horizon=2)
    with pytest.raises(plaudit.InvalidArgument, match=f"holds episodes of agent {agent.id}"):
        other.offline(tmp_path)
    other.delete()
    with pytest.raises(plaudit.InvalidArgument, match="belongs to no agent"):
        client.offline(tmp_path / "new")


def test_an_agent_that_was_deleted_loses_no_episode(client, tmp_path):
    agent = client.agent("brief", states=4, actions=2, horizon=3)
    offline = agent.offline(tmp_path)
    play(offline, 1)
    agent.delete()
    with pytest.raises(plaudit.NotFound):
        offline.sync()
    assert len(offline.waiting) == 1


def test_a_kill_leaves_whole_files(agent, tmp_path, shared_server):
    """A process that is killed while it stores episodes leaves each stored or not there."""
    agent.offline(tmp_path)
    code = f"""
import plaudit
offline = plaudit.Client({shared_server.url!r}).offline({str(tmp_path)!r})
while True:
    with offline.episode() as episode:
        episode.act(0)
        episode.finish(3)
        episode.label(True)
    print("stored", flush=True)
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        told = [child.stdout.readline() for _ in range(20)]
        child.kill()
        told += child.stdout.readlines()
    offline = agent.offline(tmp_path)
    assert len(stored(agent)) >= len([line for line in told if line.strip() == "stored"]) >= 20
    assert offline.waiting == []
