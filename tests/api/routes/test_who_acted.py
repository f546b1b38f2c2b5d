"""Somebody else acted: the record keeps both actions, and models learn what was done."""

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

EVERY = {"features": {"kind": "one_hot", "over": ["state", "action"], "steps": "all"}}


def take(client, episode, state, **body):
    return client.post(f"/v1/episodes/{episode}/steps", json={"state": state, **body})


def read(client, episode):
    return client.get(f"/v1/episodes/{episode}").json()


def acted(client, episode):
    """Who acted in each step, and what was done."""
    return [(step["actor"], step["action"]) for step in read(client, episode)["steps"]]


def label(client, episode, value=1):
    client.post(f"/v1/episodes/{episode}/label", json={"label": value}).raise_for_status()


def model(client, agent):
    start_episode(client, agent)  # which waits for everything that is there to learn
    wait_learned(client, agent)
    found = client.get(f"/v1/agents/{agent}/model").json()
    return {name: found[name] for name in found if name not in ("agent", "policy_version")}


def lines(client, agent):
    text = client.get(f"/v1/agents/{agent}/export").text
    return [json.loads(line) for line in text.splitlines()]


def test_a_client_that_acts_itself_is_recorded_beside_the_policys_choice(client):
    agent, twin = (create_agent(client, **EVERY) for _ in "ab")
    chosen = play(client, start_episode(client, twin), STATES)
    episode = start_episode(client, agent)
    others = [1 - action for action in chosen]
    answers = [
        take(client, episode, s, action=a).json() for s, a in zip(STATES, others, strict=True)
    ]
    assert [answer["action"] for answer in answers] == others
    steps = read(client, episode)["steps"]
    assert [step["action"] for step in steps] == others
    assert {step["actor"] for step in steps} == {"client"}
    assert steps[0]["answered"] == chosen[0]


def test_what_was_executed_in_the_step_before_comes_with_the_next_step(client):
    episode = start_episode(client, create_agent(client, **EVERY))
    first = take(client, episode, 0, step=0).json()["action"]
    take(client, episode, 1, step=1, executed=1 - first).raise_for_status()
    second = take(client, episode, 2, step=2).json()["action"]
    take(client, episode, 3, step=3, executed=second).raise_for_status()  # as it was answered
    assert acted(client, episode)[:3] == [
        ("override", 1 - first),
        ("policy", acted(client, episode)[1][1]),
        ("policy", second),
    ]
    assert read(client, episode)["steps"][0]["answered"] == first


@pytest.mark.parametrize("how", ["finish", "horizon", "many"])
def test_the_end_may_say_what_was_executed_in_the_last_step(client, how):
    agent = create_agent(client, **EVERY)
    episode = start_episode(client, agent)
    actions = play(client, episode, STATES if how == "horizon" else STATES[:2])
    end = {"state": 3, "executed": 1 - actions[-1]}
    if how == "many":
        entry = {"episode": episode, **end}
        answer = client.post("/v1/finishes", json={"finishes": [entry]}).json()
        assert "problem" not in answer["results"][0]
    else:
        client.post(f"/v1/episodes/{episode}/finish", json=end).raise_for_status()
    assert acted(client, episode)[-1] == ("override", 1 - actions[-1])
    assert acted(client, episode)[:-1] == [("policy", action) for action in actions[:-1]]
    assert read(client, episode)["final"] == 3


def test_an_end_at_the_horizon_takes_what_was_executed_without_a_state(client):
    episode = start_episode(client, create_agent(client, **EVERY))
    last = play(client, episode, STATES)[-1]
    path = f"/v1/episodes/{episode}/finish"
    client.post(path, json={"executed": 1 - last}).raise_for_status()
    client.post(path, json={"executed": 1 - last}).raise_for_status()  # a retry
    client.post(path, json={"state": 2}).raise_for_status()  # may still be told
    assert acted(client, episode)[-1] == ("override", 1 - last)
    assert_problem(client.post(path, json={"executed": last}), 409, "already_finished")
    assert read(client, episode)["final"] == 2


def corrected(client, agent, after_learning):
    """Episodes whose every action was replaced by the other one; told at once, or late."""
    for number in range(4):
        episode = start_episode(client, agent)
        executed = {}
        for step, state in enumerate(STATES):
            action = take(client, episode, state, step=step, **executed).json()["action"]
            executed = {"executed": number % 2} if action != number % 2 else {}
        if after_learning:
            label(client, episode, number % 2)
            wait_learned(client, agent)
        end = {"state": 1, **executed}
        client.post(f"/v1/episodes/{episode}/finish", json=end).raise_for_status()
        if not after_learning:
            label(client, episode, number % 2)
    return model(client, agent)


def test_models_learn_what_was_done_however_it_was_told(client):
    """Executed at once, after the label was learned, and by clients that act themselves."""
    at_once = corrected(client, create_agent(client, **EVERY), after_learning=False)
    late = corrected(client, create_agent(client, **EVERY), after_learning=True)
    itself = create_agent(client, **EVERY)
    for number in range(4):
        episode = start_episode(client, itself)
        for state in STATES:
            take(client, episode, state, action=number % 2).raise_for_status()
        client.post(f"/v1/episodes/{episode}/finish", json={"state": 1}).raise_for_status()
        label(client, episode, number % 2)
    demonstrated = model(client, itself)
    for name in ("visits", "transitions"):
        assert at_once[name] == late[name] == demonstrated[name]
    for found in (late, demonstrated):
        assert found["weights"] == pytest.approx(at_once["weights"], rel=1e-9, abs=1e-9)
    assert at_once["visits"][0] == [2, 2]  # both actions twice in the first state


def test_an_explanation_is_of_what_was_done(client):
    agent = create_agent(client, **EVERY)
    for number in range(3):
        episode = start_episode(client, agent)
        for state in STATES:
            take(client, episode, state, action=0).raise_for_status()
        label(client, episode, number % 2)
    wait_learned(client, agent)
    visits = []
    for action in (0, 1):
        answer = take(client, start_episode(client, agent), 0, action=action, explain=True).json()
        visits.append(answer["explanation"]["visits"])
    assert visits == [3, 0]


def test_retries_are_answered_again_and_contradictions_refused(client):
    episode = start_episode(client, create_agent(client, **EVERY))
    first = take(client, episode, 0, step=0, action=1)
    assert take(client, episode, 0, step=0, action=1).json() == first.json()
    assert take(client, episode, 0, step=0).json() == first.json()
    problem = assert_problem(take(client, episode, 0, step=0, action=0), 409, "step_conflict")
    assert "another action" in problem["detail"]
    second = take(client, episode, 1, step=1, executed=0)
    assert take(client, episode, 1, step=1, executed=0).json() == second.json()
    assert_problem(take(client, episode, 1, step=1, executed=1), 409, "step_conflict")
    assert acted(client, episode)[0] == ("override", 0)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"action": 2}, "/action"),
        ({"action": "left"}, "/action"),
        ({"action": [0]}, "/action"),
        ({"executed": 0}, "/executed"),  # nothing was done before the first step
        ({"executed": -1}, "/executed"),
    ],
)
def test_bad_actions_are_refused_and_nothing_is_recorded(client, agent, body, pointer):
    episode = start_episode(client, agent)
    problem = assert_problem(take(client, episode, 0, **body), 422)
    assert problem["errors"][0]["pointer"] == pointer
    assert read(client, episode)["steps"] == []


def test_a_start_may_carry_the_first_action(client, agent):
    path = f"/v1/agents/{agent}/episodes"
    started = client.post(path, json={"state": 0, "action": 1}).json()
    assert started["first_step"]["action"] == 1
    assert acted(client, started["id"]) == [("client", 1)]
    assert_problem(client.post(path, json={"action": 1}), 422)


def test_steps_of_many_episodes_say_who_acted(client, agent):
    episodes = [start_episode(client, agent) for _ in range(2)]
    entries = [
        {"episode": episodes[0], "state": 0, "action": 1},
        {"episode": episodes[1], "state": 0},
    ]
    results = client.post("/v1/steps", json={"steps": entries}).json()["results"]
    assert results[0]["action"] == 1
    other = 1 - results[1]["action"]
    entries = [{"episode": episodes[1], "state": 1, "executed": other}]
    client.post("/v1/steps", json={"steps": entries}).raise_for_status()
    assert acted(client, episodes[0]) == [("client", 1)]
    assert acted(client, episodes[1])[0] == ("override", other)


def test_an_export_keeps_who_acted_and_an_import_takes_it_back(client):
    agent, other = (create_agent(client, **EVERY) for _ in "ab")
    corrected(client, agent, after_learning=False)
    exported = lines(client, agent)
    assert any(line["step_details"] for line in exported)
    path = f"/v1/agents/{other}/trajectories"
    client.post(path, json={"trajectories": exported}).raise_for_status()
    again = lines(client, other)
    for name in ("states", "actions", "label", "step_details"):
        assert [line[name] for line in again] == [line[name] for line in exported]
    theirs, ours = model(client, agent), model(client, other)
    assert theirs["visits"] == ours["visits"]
    assert theirs["transitions"] == ours["transitions"]


@pytest.mark.parametrize(
    "details",
    [
        [{"step": 2, "actor": "client"}],
        [{"step": 0, "actor": "client"}, {"step": 0, "actor": "client"}],
        [{"step": 0, "actor": "ghost"}],
        [{"step": 0, "actor": "client", "answered": 7}],
        [{"step": -1, "actor": "client"}],
    ],
)
def test_an_import_refuses_details_that_fit_no_step(client, agent, details):
    logged = {"states": [0, 1], "actions": [0, 1], "step_details": details}
    answer = client.post(f"/v1/agents/{agent}/trajectories", json={"trajectories": [logged]})
    problem = assert_problem(answer, 422)
    assert problem["errors"][0]["pointer"].startswith("/trajectories/0/step_details")


def actions(client, episode, requests):
    return [take(client, episode, state, **told).json()["action"] for state, told in requests]


@pytest.mark.parametrize("mode", ["learn", "exploit"])
def test_after_a_crash_an_episode_goes_on_from_what_was_done(start_server, mode):
    """A killed server and one that ran through give the same actions."""
    server = start_server()
    with server.client() as client:
        agents = [create_agent(client, **LAKE | EVERY | {"seed": 5}) for _ in "ab"]
        for agent in agents:
            for number in range(3):
                play(client, start_episode(client, agent), STATES, label=number % 2)
                wait_learned(client, agent)
        episodes = [start_episode(client, agent, mode=mode) for agent in agents]
        told = [{}, {"executed": 1}, {"action": 0}, {"executed": 1}, {"executed": 0}]
        requests = list(zip(STATES, told, strict=True))
        taken = [actions(client, episode, requests[:3]) for episode in episodes]
        taken[1] += actions(client, episodes[1], requests[3:])
    server.kill()
    server.start()
    with server.client() as client:
        taken[0] += actions(client, episodes[0], requests[3:])
        assert acted(client, episodes[0]) == acted(client, episodes[1])
    assert taken[0] == taken[1]
