"""Limits of a real robot: allowed actions, a fallback action, and a bound on exploration."""

import json

import pytest

from tests.support.running import (
    LAKE,
    STATES,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

ALLOWED = [{"state": 0, "actions": [1]}, {"state": 3, "actions": [0]}]
BOX = {"kind": "box", "low": [-1.0], "high": [1.0]}
NUMBERS = {"states": BOX, "features": None}


def take(client, episode, state, **body):
    return client.post(f"/v1/episodes/{episode}/steps", json={"state": state, **body})


def read(client, episode):
    return client.get(f"/v1/episodes/{episode}").json()


def refuse(client, **changes):
    answer = client.post("/v1/agents", json=LAKE | changes)
    return assert_problem(answer, 422)


@pytest.mark.parametrize(
    "kind",
    ["thompson", "ucbvi", "ucbvi_exact", {"kind": "ucbvi_explore", "n_euler": 2}, "uniform"],
)
def test_a_possible_action_is_answered_before_and_after_learning(client, kind):
    features = {} if kind == "thompson" else {"features": None}
    agent = create_agent(client, **{"algorithm": kind, "allowed": ALLOWED} | features)
    states = [0, 3, 1, 3, 0]
    for number in range(6):
        body = {"mode": "exploit" if number % 2 else "learn", "wait": number > 0}
        episode = start_episode(client, agent, **body)
        actions = play(client, episode, states, label=number % 2)
        assert (actions[0], actions[1], actions[3], actions[4]) == (1, 0, 0, 1)
        policy = client.get(f"/v1/agents/{agent}/policy").json()["policy"]
        assert policy["kind"]


def test_the_view_of_an_agent_has_its_limits(client):
    fallback = [{"state": state, "action": int(state == 0)} for state in range(4)]
    limits = {"deadline_ms": 20, "max_exploration": 0.25}
    body = {"allowed": ALLOWED, "fallback_action": fallback, **limits}
    view = client.get(f"/v1/agents/{create_agent(client, **body)}").json()
    assert {name: view[name] for name in body} == body


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"allowed": [{"state": 0, "actions": []}]}, "/allowed/0/actions"),
        ({"allowed": [{"state": 4, "actions": [0]}]}, "/allowed/0/state"),
        ({"allowed": [{"state": 0, "actions": [2]}]}, "/allowed/0/actions/0"),
        ({"allowed": [{"state": 0, "actions": ["up"]}]}, "/allowed/0/actions/0"),
        ({"allowed": [ALLOWED[0], ALLOWED[0]]}, "/allowed/1/state"),
        ({"allowed": [{"state": [0.0], "actions": [0]}], **NUMBERS}, "/allowed"),
        ({"fallback_action": 2}, "/fallback_action"),
        ({"fallback_action": [{"state": 0, "action": 1}]}, "/fallback_action"),
        ({"fallback_action": 0, "allowed": ALLOWED}, "/fallback_action"),
        ({"fallback_action": [{"state": [0.0], "action": 1}], **NUMBERS}, "/fallback_action"),
        ({"deadline_ms": 50}, "/deadline_ms"),
        ({"fallback_action": 0, "deadline_ms": 0}, "/deadline_ms"),
        ({"max_exploration": 1.5}, "/max_exploration"),
        ({"max_exploration": -0.1}, "/max_exploration"),
    ],
)
def test_bad_limits_are_refused(client, changes, pointer):
    problem = refuse(client, **changes)
    assert problem["errors"][0]["pointer"].startswith(pointer)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"algorithm": "uniform", "features": None},
        {"algorithm": "ucbvi_exact", "features": None, "horizon": 3},
        {"algorithm": {"kind": "reinforce", "batch": 2}, **NUMBERS},
        {"algorithm": {"kind": "smooth", "centres": 100}, **NUMBERS},
    ],
    ids=["thompson", "uniform", "exact", "reinforce", "smooth"],
)
def test_a_step_says_what_is_possible_now(client, changes):
    agent = create_agent(client, **changes)
    horizon = changes.get("horizon", 5)
    seen = [[0.1 * n] for n in range(horizon)] if "states" in changes else STATES[:horizon]
    for number in range(4):
        episode = start_episode(client, agent)
        allowed = [[(number + step) % 2] for step in range(horizon)]
        pairs = zip(seen, allowed, strict=True)
        actions = [take(client, episode, s, allowed=a).json()["action"] for s, a in pairs]
        assert actions == [one for [one] in allowed]
        steps = read(client, episode)["steps"]
        assert [step["allowed"] for step in steps] == allowed
        assert {step["actor"] for step in steps} == {"policy"}
        client.post(f"/v1/episodes/{episode}/label", json={"label": number % 2}).raise_for_status()
        wait_learned(client, agent)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"allowed": []}, "/allowed"),
        ({"allowed": [2]}, "/allowed/0"),
        ({"allowed": 1}, "/allowed"),
        ({"allowed": [0]}, "/allowed"),  # the specification allows only 1 here
        ({"allowed": [1], "action": 0}, "/action"),
    ],
)
def test_a_step_that_leaves_no_action_is_refused_and_not_recorded(client, body, pointer):
    agent = create_agent(client, allowed=ALLOWED)
    episode = start_episode(client, agent)
    problem = assert_problem(take(client, episode, 0, **body), 422)
    assert problem["errors"][0]["pointer"].startswith(pointer)
    assert read(client, episode)["steps"] == []
    assert take(client, episode, 0, allowed=[0, 1]).json()["action"] == 1


def test_an_export_keeps_what_was_allowed(client):
    agent = create_agent(client)
    episode = start_episode(client, agent)
    for state in STATES:
        take(client, episode, state, allowed=[1]).raise_for_status()
    line = json.loads(client.get(f"/v1/agents/{agent}/export").text.splitlines()[0])
    assert line["step_details"][0] == {"step": 0, "actor": "policy", "answered": 1, "allowed": [1]}
    other = create_agent(client)
    client.post(
        f"/v1/agents/{other}/trajectories", json={"trajectories": [line]}
    ).raise_for_status()
    again = json.loads(client.get(f"/v1/agents/{other}/export").text.splitlines()[0])
    assert again["step_details"] == line["step_details"]


def test_a_start_may_carry_what_is_possible_first(client, agent):
    path = f"/v1/agents/{agent}/episodes"
    for action in (0, 1):
        started = client.post(path, json={"state": 0, "allowed": [action]}).json()
        assert started["first_step"]["action"] == action
    before = client.get(f"/v1/agents/{agent}").json()["episodes"]
    assert_problem(client.post(path, json={"state": 0, "allowed": [7]}), 422)
    assert client.get(f"/v1/agents/{agent}").json()["episodes"] == before


def test_without_a_policy_the_fallback_action_is_played_and_marked(start_server):
    """No learning process runs, so that no policy is ever ready."""
    server = start_server(learning=False)
    with server.client() as client:
        fallback = [{"state": s, "action": s % 2} for s in range(4)]
        agent = create_agent(client, fallback_action=fallback, deadline_ms=20)
        episode = start_episode(client, agent)
        assert play(client, episode, STATES[:3]) == [0, 1, 0]
        assert {step["actor"] for step in read(client, episode)["steps"]} == {"fallback"}
        server.kill()
        server.start()
    with server.client() as client:
        assert take(client, episode, 3, step=3).json()["action"] == 1
        assert take(client, episode, 3, step=4, allowed=[0]).json()["action"] == 0
        actors = [step["actor"] for step in read(client, episode)["steps"]]
        assert actors == ["fallback"] * 5
        strict = create_agent(client, max_exploration=0.5, wait=False)
        answer = client.post(f"/v1/agents/{strict}/episodes", json={})
        assert_problem(answer, 503)


def test_only_a_share_of_the_episodes_explores(client):
    agent = create_agent(client, max_exploration=0.25, wait=True)
    pinned = []
    for number in range(12):
        episode = start_episode(client, agent)
        path = f"/v1/agents/{agent}/policy"
        mine = client.get(path, params={"episode": episode}).json()["policy"]
        best = client.get(path, params={"mode": "exploit"}).json()["policy"]
        pinned.append(mine == best)
        play(client, episode, STATES, label=number % 2)
        wait_learned(client, agent)
    explored = [number for number, exploits in enumerate(pinned) if not exploits]
    assert set(explored) <= {3, 7, 11}
    assert explored
