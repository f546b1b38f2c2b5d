"""An episode's life over HTTP: steps, retries, ends, modes, pinned policies, explanations."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from scipy.special import expit

from tests.support.running import (
    STATES,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
    wait_until,
)


@pytest.fixture
def episode(client, agent):
    return start_episode(client, agent, wait=False)


def step(client, episode, **body):
    return client.post(f"/v1/episodes/{episode}/steps", json=body)


def finish(client, episode, **body):
    return client.post(f"/v1/episodes/{episode}/finish", json=body)


def read(client, episode):
    return client.get(f"/v1/episodes/{episode}").json()


def followers(client, agent, state, action):
    """Where an action has led to, as the agent has learned it: {(state, ended): probability}."""
    rows = client.get(f"/v1/agents/{agent}/model").json()["transitions"]
    found = [row for row in rows if (row["state"], row["action"]) == (state, action)]
    return {(f["state"], f["ended"]): f["probability"] for row in found for f in row["followers"]}


def test_a_start_says_what_the_client_needs_to_know(client, agent):
    body = {"external_id": "run-17", "metadata": {"arm": 3}, "wait": False}
    answer = client.post(f"/v1/agents/{agent}/episodes", json=body)
    assert answer.status_code == 201
    view = answer.json()
    assert answer.headers["location"] == f"/v1/episodes/{view['id']}"
    expected = {
        "agent": agent,
        "external_id": "run-17",
        "mode": "learn",
        "status": "running",
        "label_required": True,
        "label": None,
        "horizon": 5,
        "length": 0,
        "metadata": {"arm": 3},
        "finished_at": None,
    }
    assert {name: view[name] for name in expected} == expected
    assert view["id"].startswith("eps_")
    following = client.post(f"/v1/agents/{agent}/episodes", json={"wait": False}).json()
    assert following["number"] == view["number"] + 1


def test_a_start_takes_no_body_at_all(client, agent):
    assert client.post(f"/v1/agents/{agent}/episodes").status_code == 201


def test_steps_are_answered_in_order_until_the_last(client, episode):
    answers = [step(client, episode, state=state).json() for state in STATES]
    assert [answer["step"] for answer in answers] == [0, 1, 2, 3, 4]
    assert [answer["last"] for answer in answers] == [False] * 4 + [True]
    assert all(answer["action"] in (0, 1) for answer in answers)
    assert all(set(answer) == {"step", "action", "last"} for answer in answers)
    view = read(client, episode)
    assert view["status"] == "awaiting_label"
    assert view["length"] == 5
    assert view["finished_at"] is not None
    assert not view["terminated"]
    assert [(one["step"], one["state"], one["action"]) for one in view["steps"]] == [
        (i, state, answer["action"])
        for i, (state, answer) in enumerate(zip(STATES, answers, strict=True))
    ]


def test_a_retry_of_the_last_step_gets_the_same_answer_and_is_recorded_once(client, episode):
    first = step(client, episode, state=0, step=0)
    again = [step(client, episode, state=0, step=0) for _ in range(3)]
    assert {answer.text for answer in again} == {first.text}
    assert read(client, episode)["length"] == 1
    play_rest = [step(client, episode, state=s, step=i) for i, s in enumerate(STATES) if i > 0]
    last = step(client, episode, state=3, step=4)
    assert last.text == play_rest[-1].text
    assert last.json()["last"]
    assert len(read(client, episode)["steps"]) == 5


def test_the_same_step_in_another_state_is_a_conflict(client, episode):
    step(client, episode, state=0, step=0)
    assert_problem(step(client, episode, state=1, step=0), 409, "step_conflict")
    assert [one["state"] for one in read(client, episode)["steps"]] == [0]


@pytest.mark.parametrize("wrong", [0, 3, 10**400])
def test_a_step_out_of_order_is_a_conflict(client, episode, wrong):
    play(client, episode, [0, 1])
    problem = assert_problem(step(client, episode, state=2, step=wrong), 409, "step_out_of_order")
    assert "2" in problem["detail"]
    assert read(client, episode)["length"] == 2


def test_nothing_follows_the_last_step(client, episode):
    play(client, episode, STATES)
    assert_problem(step(client, episode, state=0), 409, "episode_over")
    assert_problem(step(client, episode, state=0, step=5), 409, "episode_over")
    assert len(read(client, episode)["steps"]) == 5


def test_an_end_before_the_horizon_is_absorbing(client):
    agent = create_agent(client)
    first = start_episode(client, agent)
    action = play(client, first, [0])[0]
    ended = finish(client, first, state=1).json()
    assert (ended["status"], ended["length"]) == ("awaiting_label", 1)
    view = read(client, first)
    assert (view["final"], view["terminated"]) == (1, True)
    client.post(f"/v1/episodes/{first}/label", json={"label": 1})
    wait_learned(client, agent)
    assert followers(client, agent, 0, action) == {(1, True): 1.0}
    # Four steps of the five are after the end, and count for the state that it stayed in.
    judged, model = read(client, first), client.get(f"/v1/agents/{agent}/model").json()
    share, rest = judged["steps"][0]["share"], judged["after_end"]
    assert (share, rest) == pytest.approx((model["weights"][0], 4 * model["weights"][1]))
    assert share > 0
    assert rest > 0
    assert judged["predicted"] == pytest.approx(expit(model["intercept"] + share + rest))


def test_passing_through_a_state_and_ending_in_it_are_told_apart(client):
    agent = create_agent(client)
    body = {
        "trajectories": [
            {"states": [0, 1], "actions": [0], "label": 1},
            {"states": [0, 1, 2, 3, 3], "actions": [0, 0, 0, 0, 0], "label": 0},
        ]
    }
    assert client.post(f"/v1/agents/{agent}/trajectories", json=body).status_code == 201
    wait_learned(client, agent)
    assert followers(client, agent, 0, 0) == {(1, True): 0.5, (1, False): 0.5}


def test_an_end_may_come_before_the_first_step_and_without_a_state(client):
    agent = create_agent(client)
    at_once, nowhere = start_episode(client, agent), start_episode(client, agent)
    assert finish(client, at_once, state=2).json()["length"] == 0
    play(client, nowhere, [0])
    assert client.post(f"/v1/episodes/{nowhere}/finish").json()["status"] == "awaiting_label"
    for episode in (at_once, nowhere):
        assert client.post(f"/v1/episodes/{episode}/label", json={"label": 1}).status_code == 200
    view = wait_learned(client, agent)
    assert view["learning_error"] is None
    assert view["episodes"]["labelled"] == 2
    assert read(client, nowhere)["final"] is None
    play(client, start_episode(client, agent), STATES, label=0)
    assert wait_learned(client, agent)["learning_error"] is None


def test_an_episode_that_was_only_cut_off_did_not_end(client):
    agent = create_agent(client)
    episode = start_episode(client, agent)
    action = play(client, episode, [0])[0]
    finish(client, episode, state=1, terminated=False)
    assert not read(client, episode)["terminated"]
    client.post(f"/v1/episodes/{episode}/label", json={"label": 1})
    wait_learned(client, agent)
    assert followers(client, agent, 0, action) == {(1, False): 1.0}


def test_an_episode_ends_once(client, episode):
    play(client, episode, [0])
    assert finish(client, episode, state=1).status_code == 200
    assert_problem(finish(client, episode, state=1), 409, "already_finished")
    assert_problem(finish(client, episode), 409, "episode_over")
    assert_problem(step(client, episode, state=1, step=1), 409, "episode_over")


def test_where_the_last_step_led_is_reported_once(client):
    agent = create_agent(client)
    episode = start_episode(client, agent)
    actions = play(client, episode, [0, 0, 0, 0, 1])
    assert finish(client, episode, state=2).json()["status"] == "awaiting_label"
    assert_problem(finish(client, episode, state=2), 409, "already_finished")
    view = read(client, episode)
    assert (view["final"], view["terminated"]) == (2, False)
    client.post(f"/v1/episodes/{episode}/label", json={"label": 1})
    wait_learned(client, agent)
    assert followers(client, agent, 1, actions[-1]) == {(2, False): 1.0}


def test_a_finish_that_reports_nothing_after_the_last_step_is_harmless(client, agent):
    episode = start_episode(client, agent)
    play(client, episode, STATES)
    over = read(client, episode)
    for body in ({}, {"state": None}, {"terminated": False}):
        answer = finish(client, episode, **body)
        assert answer.status_code == 200
        assert answer.json().items() <= {**over, "information": None}.items()
    assert_problem(finish(client, episode, terminated=True), 409, "episode_over")
    assert finish(client, episode, state=2).status_code == 200  # the report is still to come
    assert finish(client, episode).status_code == 200
    assert read(client, episode)["final"] == 2


def test_a_finish_of_an_abandoned_episode_is_refused_also_after_its_last_step(client, episode):
    play(client, episode, STATES)
    client.post(f"/v1/episodes/{episode}/abandon").raise_for_status()
    assert_problem(finish(client, episode), 409, "episode_over")


def test_a_report_may_come_after_the_label(client):
    agent = create_agent(client)
    episode = start_episode(client, agent)
    actions = play(client, episode, [0, 0, 0, 0, 1], label=1)
    wait_learned(client, agent)
    assert finish(client, episode, state=3).json()["status"] == "labelled"
    play(client, start_episode(client, agent), [0, 0, 0, 0, 0], label=0)
    assert wait_learned(client, agent)["learning_error"] is None
    assert followers(client, agent, 1, actions[-1]) == {(3, False): 1.0}


@pytest.mark.parametrize("state", [4, -1, "a", 1.5, [0], True])
def test_a_state_that_is_none_changes_nothing(client, episode, state):
    play(client, episode, [0])
    assert_problem(step(client, episode, state=state), 422, "invalid_value")
    assert_problem(finish(client, episode, state=state), 422, "invalid_value")
    view = read(client, episode)
    assert (view["status"], view["length"]) == ("running", 1)


def test_an_abandoned_episode_counts_its_transitions_and_takes_no_label(client):
    agent = create_agent(client)
    episode = start_episode(client, agent)
    actions = play(client, episode, [0, 1])
    path = f"/v1/episodes/{episode}"
    assert client.post(f"{path}/abandon").json()["status"] == "abandoned"
    assert_problem(client.post(f"{path}/abandon"), 409, "episode_over")
    assert_problem(client.post(f"{path}/label", json={"label": 1}), 409, "episode_abandoned")
    assert_problem(step(client, episode, state=2), 409, "episode_over")
    play(client, start_episode(client, agent), [2, 2, 2, 2, 2], label=0)
    assert wait_learned(client, agent)["episodes"]["abandoned"] == 1
    assert followers(client, agent, 0, actions[0]) == {(1, False): 1.0}
    assert not client.get("/v1/episodes", params={"agent": agent, "status": "running"}).json()[
        "items"
    ]


def test_an_episode_that_waits_for_its_label_can_be_given_up(client):
    agent = create_agent(client)
    episode = start_episode(client, agent)
    play(client, episode, STATES)
    assert client.post(f"/v1/episodes/{episode}/abandon").json()["status"] == "abandoned"
    assert_problem(finish(client, episode, state=1), 409, "episode_over")
    view = wait_learned(client, agent)
    assert view["episodes"] == {
        "running": 0,
        "awaiting_label": 0,
        "labelled": 0,
        "completed": 0,
        "abandoned": 1,
    }


def test_a_report_on_an_imported_episode_that_was_given_up_is_refused(client):
    agent = create_agent(client)
    given_up = {"states": STATES, "actions": [0] * 5, "status": "abandoned"}
    body = {"trajectories": [given_up]}
    made = client.post(f"/v1/agents/{agent}/trajectories", json=body).json()
    assert_problem(finish(client, made["first"], state=1), 409)
    play(client, start_episode(client, agent), STATES, label=1)
    assert wait_learned(client, agent)["learning_error"] is None


def test_external_ids_find_episodes(client, agent):
    wanted = [start_episode(client, agent, external_id="arm 7/run 3", wait=False) for _ in "ab"]
    start_episode(client, agent, external_id="other", wait=False)
    query = {"agent": agent, "external_id": "arm 7/run 3"}
    items = client.get("/v1/episodes", params=query).json()["items"]
    assert [item["id"] for item in items] == wanted
    nothing = client.get("/v1/episodes", params=query | {"external_id": "none"}).json()
    assert nothing == {"items": [], "next": None}


def test_exploit_plays_the_plan_without_bonuses_and_is_learned_from(client):
    agent = create_agent(client)
    for label in (1, 0, 1):
        play(client, start_episode(client, agent), STATES, label=label)
    before = wait_learned(client, agent)["policy_version"]
    answer = client.post(f"/v1/agents/{agent}/episodes", json={"mode": "exploit"}).json()
    assert answer["mode"] == "exploit"
    path = f"/v1/agents/{agent}/policy"
    pinned = client.get(path, params={"episode": answer["id"]}).json()
    assert pinned["policy"] == client.get(path, params={"mode": "exploit"}).json()["policy"]
    assert pinned["policy"] != client.get(path).json()["policy"]
    play(client, answer["id"], STATES, label=1)
    after = wait_learned(client, agent)
    assert after["policy_version"] > before
    assert after["episodes"]["labelled"] == 4


def test_without_waiting_an_episode_starts_on_the_policy_in_force(client):
    agent = create_agent(client)
    answer = client.post(f"/v1/agents/{agent}/episodes", json={"wait": False}).json()
    assert answer["status"] == "running"
    assert answer["policy_version"] == 0
    play(client, answer["id"], STATES, label=1)
    waited = client.post(f"/v1/agents/{agent}/episodes", json={}).json()
    assert waited["policy_version"] == client.get(f"/v1/agents/{agent}").json()["policy_version"]
    assert waited["policy_version"] > 0


def test_a_policy_is_pinned_while_learning_goes_on(client):
    agent = create_agent(client)
    pinned = client.post(f"/v1/agents/{agent}/episodes", json={}).json()
    path = f"/v1/agents/{agent}/policy"
    before = client.get(path, params={"episode": pinned["id"]}).json()
    play(client, pinned["id"], [0])
    for _ in range(3):
        play(client, start_episode(client, agent), STATES, label=1)
    view = wait_learned(client, agent)
    assert view["policy_version"] > pinned["policy_version"]
    assert client.get(path, params={"episode": pinned["id"]}).json() == before
    assert read(client, pinned["id"])["policy_version"] == pinned["policy_version"]
    assert client.get(path).json()["policy_version"] == view["policy_version"]


def test_the_same_seed_and_the_same_requests_give_the_same_actions(client):
    def run(seed):
        agent = create_agent(client, seed=seed)
        return [play(client, start_episode(client, agent), STATES, label=i % 2) for i in range(4)]

    assert run(2**63 - 1) == run(2**63 - 1)
    assert len({str(run(seed)) for seed in range(4)}) > 1


def test_an_episode_that_needs_no_label_is_completed_and_in_no_queue(client):
    agent = create_agent(client)
    body = {"trajectories": [{"states": STATES, "actions": [0] * 5, "status": "completed"}]}
    episode = client.post(f"/v1/agents/{agent}/trajectories", json=body).json()["first"]
    view = read(client, episode)
    assert (view["status"], view["label_required"]) == ("completed", False)
    for order in ("informative", "oldest", "newest"):
        query = {"agent": agent, "status": "awaiting_label", "order": order}
        assert client.get("/v1/episodes", params=query).json()["items"] == []
    path = f"/v1/episodes/{episode}/label"
    assert client.post(path, json={"label": 1}).json()["status"] == "labelled"
    assert client.delete(path).json()["status"] == "completed"
    assert wait_learned(client, agent)["episodes"]["completed"] == 1


@pytest.mark.parametrize("space", ["discrete", "box"])
def test_a_step_can_be_explained(client, space):
    box = {"kind": "box", "low": [0], "high": [4], "bins": [4]}
    agent = create_agent(client, **({} if space == "discrete" else {"states": box}))
    states = STATES if space == "discrete" else [[s + 0.5] for s in STATES]
    for label in (1, 1, 0):
        play(client, start_episode(client, agent), states, label=label)
    wait_learned(client, agent)
    episode = start_episode(client, agent)
    plain = step(client, episode, state=states[0], step=0).json()
    answer = step(client, episode, state=states[0], step=0, explain=True).json()
    why = answer.pop("explanation")
    assert answer == plain
    assert set(why) == {"visits", "success_probability", "bonus_share"}
    visits = client.get(f"/v1/agents/{agent}/model").json()["visits"]
    assert why["visits"] == visits[0][answer["action"]]
    assert 0 < why["success_probability"] < 1
    assert 0 <= why["bonus_share"] < 1
    for i in range(1, 5):
        assert step(client, episode, state=states[i], explain=True).json()["explanation"]


def test_two_clients_that_step_one_episode_lose_and_double_nothing(shared_server, client):
    agent = create_agent(client, horizon=60)
    episode = start_episode(client, agent)

    def insist(own_state):
        """Step without numbers until the episode is over; what was answered."""
        answers = []
        with shared_server.client() as own:
            while True:
                answer = step(own, episode, state=own_state)
                if answer.status_code == 409:
                    assert_problem(answer, 409, "episode_over")
                    return answers
                answers.append((answer.json()["step"], own_state, answer.json()["action"]))

    with ThreadPoolExecutor(4) as threads:
        parts = list(threads.map(insist, [0, 1, 2, 3]))
    answered = sorted(answer for part in parts for answer in part)
    assert [one[0] for one in answered] == list(range(60))
    logged = [(one["step"], one["state"], one["action"]) for one in read(client, episode)["steps"]]
    assert logged == answered
    assert sum(len(part) > 0 for part in parts) > 1


def test_two_clients_that_send_the_same_numbered_steps_get_the_same_answers(shared_server, client):
    agent = create_agent(client, horizon=40)
    episode = start_episode(client, agent)

    def follow(_):
        """Step by number; where another was faster, its step is the one that counts."""
        answers = {}
        with shared_server.client() as own:
            for i in range(40):
                answer = step(own, episode, state=i % 4, step=i)
                if answer.status_code == 200:
                    answers[i] = answer.json()["action"]
                else:
                    assert_problem(answer, 409, "step_out_of_order")
        return answers

    with ThreadPoolExecutor(3) as threads:
        parts = list(threads.map(follow, range(3)))
    logged = {one["step"]: one["action"] for one in read(client, episode)["steps"]}
    assert sorted(logged) == list(range(40))
    assert all(part.items() <= logged.items() for part in parts)


def test_counts_of_episodes_add_up(client):
    agent = create_agent(client)
    episodes = [start_episode(client, agent, wait=False) for _ in range(5)]
    play(client, episodes[0], STATES, label=1)
    play(client, episodes[1], STATES, label=0)
    play(client, episodes[2], STATES)
    client.post(f"/v1/episodes/{episodes[3]}/abandon")
    counts = {"running": 1, "awaiting_label": 1, "labelled": 2, "completed": 0, "abandoned": 1}
    view = wait_learned(client, agent)
    assert view["episodes"] == counts
    assert view["success_rate"] == 0.5
    for status, count in counts.items():
        query = {"agent": agent, "status": status}
        assert len(client.get("/v1/episodes", params=query).json()["items"]) == count
    assert wait_until(lambda: client.get(f"/v1/agents/{agent}").json()["plan"])


@pytest.mark.parametrize("path", ["/v1/episodes?external_id=a%00b", "/?name=a%00b"])
def test_a_query_for_text_that_no_database_holds_is_answered(client, path):
    assert client.get(path).status_code in (200, 422)
