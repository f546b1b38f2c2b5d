"""The event stream: it reconnects behind the last event, and ends when the agent is gone."""

import threading

import pytest

import plaudit
from tests.client.faulty import LOSE_REQUEST, CutAfter, Refuse
from tests.client.test_operations import play


def test_every_event_once_whatever_breaks(connect, proxy, lake):
    shaky = connect(proxy.url)
    episodes = [play(shaky, lake.id, label=1) for _ in range(3)]
    # An event has three lines: two cuts are in the middle of one.
    proxy.faults = [CutAfter(4), LOSE_REQUEST, CutAfter(2), Refuse(503), CutAfter(6)]
    events = []
    for event in shaky.agent(lake.id).events(after=0):
        events.append(event)
        if sum(event.kind == "label.given" for event in events) == 3:
            break
    numbers = [event.number for event in events]
    assert numbers == sorted(set(numbers))
    assert [e.episode for e in events if e.kind == "episode.finished"] == episodes
    assert [(e.episode, e.label) for e in events if e.kind == "label.given"] == [
        (episode, 1) for episode in episodes
    ]
    assert events[0].agent == lake.id


def test_from_now_on(shared_server, lake):
    """Without `after`, what happened before is not told."""
    with plaudit.Client(shared_server.url) as client:
        play(client, lake.id, label=1)
        lake.wait_until_learned(60)
        later = threading.Timer(1.0, lambda: play(client, lake.id, label=0))
        later.start()
        event = next(iter(client.stream_events(lake.id)))
        later.join()
    assert event.kind == "episode.finished"


def test_an_agent_that_is_gone(api, lake):
    api.delete_agent(lake.id)
    with pytest.raises(plaudit.NotFound):
        next(iter(api.stream_events(lake.id)))


def test_a_server_that_stays_away_ends_it(connect, proxy, lake):
    proxy.faults = [LOSE_REQUEST] * 100
    with pytest.raises(plaudit.ConnectionFailed):
        next(iter(connect(proxy.url, patience=0.5).stream_events(lake.id)))
    proxy.faults = [Refuse(503)] * 100
    with pytest.raises(plaudit.UnexpectedAnswer, match="503"):
        next(iter(connect(proxy.url, patience=0.5).stream_events(lake.id)))
