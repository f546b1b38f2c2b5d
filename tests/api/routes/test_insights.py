"""What an agent has learned, over HTTP: model, policy, learning curve, events."""

import json
import random
import threading
from math import floor

import httpx
import pytest

from tests.support.running import (
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
    wait_until,
)

STATES = [0, 1, 2, 3, 3]
BOX = {"kind": "box", "low": [-1.0, 0.0], "high": [1.0, 5.0], "bins": [2, 3]}
ROOMS = ["kitchen", "hall", "attic", "cellar"]


class Outside:
    """A client that plays a policy by itself, written from docs/policy.md and nothing else."""

    def __init__(self, document):
        self.policy = document["policy"]
        self.seed = int(document["seed"])
        self.episode = document["episode_number"]
        self.states, self.actions = document["states"], document["actions"]
        self.step, self.g = 0, 0

    def act(self, observation):
        chance = self._random()
        choice = self._choose(self._index(observation), chance)
        self.step += 1
        return self.actions["values"][choice] if self.actions["kind"] == "labels" else choice

    def _index(self, observation):
        if self.states["kind"] == "discrete":
            return observation
        if self.states["kind"] == "labels":
            return self.states["values"].index(observation)
        place = 0
        sides = (self.states[name] for name in ("low", "high", "bins"))
        for x, low, high, bins in zip(observation, *sides, strict=True):
            held = sorted((low, x, high))[1]
            place = place * bins + min(floor((held - low) / (high - low) * bins), bins - 1)
        return place

    def _choose(self, s, chance):
        p, t = self.policy, self.step
        if p["kind"] == "uniform":
            return floor(chance * p["actions"])
        assert p["kind"] == "grid"
        low, high = p["low"][t][s], p["high"][t][s]
        action = p["actions"][p["offsets"][t][s] + sorted((low, self.g, high))[1] - low]
        x = sorted((-1e9, p["weights"][t][s][action] / p["delta"], 1e9))[1]
        moved = self.g + floor(x) + (1 if chance < x - floor(x) else 0)
        self.g = sorted((p["clip"][0], moved, p["clip"][1]))[1]
        return action

    def _random(self):
        bits = self.seed
        for part in (0, self.episode, self.step):
            bits = self._scramble(bits ^ part)
        return (bits >> 11) / 2**53

    @staticmethod
    def _scramble(z):
        wrap = 1 << 64
        z = (z + 0x9E3779B97F4A7C15) % wrap
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % wrap
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % wrap
        return z ^ (z >> 31)


def policy(client, agent, **query):
    answer = client.get(f"/v1/agents/{agent}/policy", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_model_has_weights_visits_transitions_and_bonuses(client):
    agent = create_agent(client)
    actions = play(client, start_episode(client, agent), STATES, label=1)
    view = wait_learned(client, agent)
    model = client.get(f"/v1/agents/{agent}/model").json()
    assert (model["agent"], model["policy_version"]) == (agent, view["policy_version"])
    assert len(model["weights"]) == 4
    assert isinstance(model["intercept"], float)
    for name in ("visits", "bonuses"):
        assert [len(row) for row in model[name]] == [2] * 4
    assert model["start"][0] == max(model["start"])
    assert sum(model["start"]) == pytest.approx(1)
    expected = [[0, 0] for _ in range(4)]
    for state, action in zip(STATES, actions, strict=True):
        expected[state][action] += 1
    assert model["visits"] == expected
    for row in model["transitions"]:
        assert sum(f["probability"] for f in row["followers"]) == pytest.approx(1)
    after_first = next(r for r in model["transitions"] if r["state"] == 0)
    assert after_first["action"] == actions[0]
    assert after_first["followers"] == [{"state": 1, "ended": False, "probability": 1.0}]


def test_a_kind_that_believes_nothing_says_so(client):
    agent = create_agent(client, algorithm={"kind": "uniform"}, features=None)
    play(client, start_episode(client, agent), STATES, label=1)
    wait_learned(client, agent)
    model = client.get(f"/v1/agents/{agent}/model").json()
    assert {model[name] for name in set(model) - {"agent", "policy_version"}} == {None}


def test_the_learning_curve_has_a_point_for_every_label_and_policy(client):
    agent = create_agent(client)
    labels = [1, 0, 1]
    for label in labels:
        play(client, start_episode(client, agent), STATES, label=label)
    view = wait_learned(client, agent)
    curve = client.get(f"/v1/agents/{agent}/learning-curve").json()
    assert [point["success"] for point in curve["observed"]] == labels
    assert [point["labels"] for point in curve["observed"]] == [1, 2, 3]
    assert all(p["low"] <= p["success"] <= p["high"] for p in curve["observed"])
    versions = [point["version"] for point in curve["policies"]]
    assert versions == sorted(set(versions))
    assert versions[-1] == view["policy_version"]
    newest = curve["policies"][-1]
    assert (newest["episodes"], newest["labels"]) == (3, 3)
    assert 0 <= newest["predicted"] <= 1
    assert newest["gap"] >= 0


@pytest.mark.parametrize(
    ("changes", "states"),
    [
        ({}, STATES),
        ({"horizon": 30, "features": {"kind": "auto"}}, STATES * 6),
        ({"states": BOX}, [[0.3, 4.9], [-9, 9], [1, 5], [-0.1, 1.67], [0, 0]]),
        (
            {
                "states": {"kind": "labels", "values": ROOMS},
                "actions": {"kind": "labels", "values": ["a", "b", "c"]},
                "seed": 2**63 - 1,
            },
            [ROOMS[i] for i in STATES],
        ),
        ({"algorithm": {"kind": "uniform"}, "features": None}, STATES),
        ({"algorithm": {"kind": "ucbvi"}}, STATES),
    ],
    ids=["discrete", "auto", "box", "labels", "uniform", "ucbvi"],
)
def test_a_policy_played_outside_the_server_takes_the_same_actions(client, changes, states):
    agent = create_agent(client, **changes)
    for label in (1, 0, 1, 1):
        play(client, start_episode(client, agent), states, label=label)
    wait_learned(client, agent)
    for mode in ("learn", "exploit"):
        outside = Outside(policy(client, agent, mode=mode))
        episode = start_episode(client, agent, mode=mode)
        pinned = Outside(policy(client, agent, episode=episode))
        inside = play(client, episode, states)
        assert [outside.act(state) for state in states] == inside
        assert [pinned.act(state) for state in states] == inside
        client.post(f"/v1/episodes/{episode}/label", json={"label": 1})
        wait_learned(client, agent)


def test_a_policy_played_outside_rounds_its_index_with_the_same_luck(client):
    """Gambling pays only behind: on a coarse grid the luck of rounding decides what to do."""
    horizon, luck = 40, random.Random(0)
    agent = create_agent(client, horizon=horizon, algorithm={"kind": "thompson", "epsilon": 0.3})
    logged = []
    for _ in range(60):
        states, actions = [0], []
        while len(actions) < horizon:
            actions.append(luck.randrange(2))
            after = luck.choice([2, 3]) if actions[-1] else 1
            states.append(0 if states[-1] else after)
        gained = states[:-1].count(2) - states[:-1].count(3)
        logged.append({"states": states[:-1], "actions": actions, "label": int(gained > 0)})
    client.post(f"/v1/agents/{agent}/trajectories", json={"trajectories": logged})
    wait_learned(client, agent)
    differing = 0
    for _ in range(6):
        states = [0 if step % 2 == 0 else luck.choice([2, 3]) for step in range(horizon)]
        episode = start_episode(client, agent, mode="exploit")
        document = policy(client, agent, episode=episode)
        inside = play(client, episode, states)
        outside = Outside(document)
        assert [outside.act(state) for state in states] == inside
        unlucky = Outside(document | {"episode_number": document["episode_number"] + 1})
        differing += [unlucky.act(state) for state in states] != inside
    assert differing > 0


def test_a_policy_has_an_etag_that_changes_with_it(client):
    agent = create_agent(client)
    wait_learned(client, agent)
    path = f"/v1/agents/{agent}/policy"
    tag = client.get(path).headers["etag"]
    for known in (tag, f'"other", {tag}'):
        answer = client.get(path, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"].removeprefix("W/") == tag.removeprefix("W/")
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    play(client, start_episode(client, agent), STATES, label=1)
    wait_learned(client, agent)
    answer = client.get(path, headers={"If-None-Match": tag})
    assert answer.status_code == 200
    assert answer.headers["etag"] != tag


def test_the_policy_of_an_episode_that_is_over_or_of_another_agent_is_not_pinned(client):
    agent, other = create_agent(client), create_agent(client)
    over, foreign = start_episode(client, agent), start_episode(client, other)
    play(client, over, STATES)
    path = f"/v1/agents/{agent}/policy"
    for episode in (over, foreign):
        problem = assert_problem(client.get(path, params={"episode": episode}), 422)
        assert problem["errors"][0]["parameter"] == "episode"
    assert_problem(client.get(path, params={"mode": "dream"}), 422)


class Listener:
    """Reads server-sent events in a thread, until they end."""

    def __init__(self, server, agent, after=None, **headers):
        self.events, self.ended = [], threading.Event()
        self._listening = threading.Event()
        headers |= {} if after is None else {"Last-Event-ID": str(after)}
        url = f"{server.url}/v1/agents/{agent}/events"
        threading.Thread(target=self._read, args=(url, headers), daemon=True).start()
        assert self._listening.wait(60)

    def _read(self, url, headers):
        with httpx.stream("GET", url, headers=headers, timeout=120) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            event = {}
            for line in answer.iter_lines():
                self._listening.set()
                name, _, value = line.partition(": ")
                if not line and "data" in event:
                    self.events.append(
                        (int(event["id"]), event["event"], json.loads(event["data"]))
                    )
                    event = {}
                elif name:
                    event[name] = value
        self.ended.set()

    @property
    def names(self):
        return [name for _, name, _ in self.events]


def test_events_come_in_order_as_things_happen(shared_server, client):
    agent = create_agent(client)
    wait_learned(client, agent)
    listener = Listener(shared_server, agent)
    episode = start_episode(client, agent)
    play(client, episode, STATES, label=1)
    wait_until(lambda: "policy.replaced" in listener.names)
    view = wait_learned(client, agent)
    assert listener.names == ["episode.finished", "label.given", "policy.replaced"]
    numbers = [number for number, _, _ in listener.events]
    assert numbers == sorted(set(numbers))
    finished, given, replaced = (body for _, _, body in listener.events)
    assert (finished["agent"], finished["episode"]) == (agent, episode)
    assert (given["episode"], given["label"]) == (episode, 1)
    assert replaced["policy_version"] == view["policy_version"]
    path = f"/v1/episodes/{episode}/label"
    client.put(path, json={"label": 0})
    client.delete(path)
    other = start_episode(client, agent)
    client.post(f"/v1/episodes/{other}/abandon")
    wait_until(lambda: "episode.abandoned" in listener.names)
    kept = [name for name in listener.names[3:] if name != "policy.replaced"]
    assert kept == ["label.given", "label.withdrawn", "episode.abandoned"]
    client.delete(f"/v1/agents/{agent}")
    assert listener.ended.wait(60)


def test_who_comes_back_with_the_last_id_misses_nothing(shared_server, client):
    agent = create_agent(client)
    play(client, start_episode(client, agent), STATES, label=1)
    wait_learned(client, agent)
    whole = Listener(shared_server, agent, after=0)
    wait_until(lambda: whole.names.count("policy.replaced") == 2)
    assert [name for name in whole.names if name != "policy.replaced"] == [
        "episode.finished",
        "label.given",
    ]
    rest = Listener(shared_server, agent, after=whole.events[1][0])
    play(client, start_episode(client, agent), STATES)
    wait_until(lambda: "episode.finished" in rest.names[-1:])
    wait_until(lambda: len(whole.events) == 2 + len(rest.events))
    assert rest.events == whole.events[2:]
    for wrong in ("x", "-1", "1e9"):
        path = f"/v1/agents/{agent}/events"
        assert_problem(client.get(path, headers={"Last-Event-ID": wrong}), 422)


def test_streams_end_when_the_server_stops_and_go_on_after_it_is_back(start_server):
    server = start_server()
    with server.client() as client:
        agent = create_agent(client)
        wait_learned(client, agent)
        listener = Listener(server, agent)
        play(client, start_episode(client, agent), STATES)
        wait_until(lambda: listener.events)
    assert server.stop() == 0
    assert listener.ended.wait(60)
    server.start()
    with server.client() as client:
        again = Listener(server, agent, after=0)
        wait_until(lambda: len(again.events) >= 2)
        assert listener.events[0] in again.events
