"""Labels over HTTP: given, corrected, withdrawn, overdue; and the queue of those to give."""

import time

import pytest

from app.agents.base import MODEL_TOLERANCE
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
    """An episode that waits for its label."""
    episode = start_episode(client, agent, wait=False)
    play(client, episode, STATES)
    return episode


def label(client, episode, method="POST", **body):
    return client.request(method, f"/v1/episodes/{episode}/label", json=body)


def read(client, episode):
    return client.get(f"/v1/episodes/{episode}").json()


def queue(client, **query):
    return client.get("/v1/episodes", params={"status": "awaiting_label"} | query).json()


def model(client, agent):
    wait_learned(client, agent)
    return client.get(f"/v1/agents/{agent}/model").json()


def log(client, agent, *trajectories):
    """Import (states, action, label) with one action throughout; the ids."""
    body = {
        "trajectories": [
            {"states": states, "actions": [action] * len(states)}
            | ({} if verdict is None else {"label": verdict})
            for states, action, verdict in trajectories
        ]
    }
    answer = client.post(f"/v1/agents/{agent}/trajectories", json=body)
    assert answer.status_code == 201, answer.text
    base, _, first = answer.json()["first"].rpartition("_")
    return [f"{base}_{int(first) + i}" for i in range(len(trajectories))]


def test_a_running_episode_takes_no_label(client, agent):
    episode = start_episode(client, agent, wait=False)
    play(client, episode, [0])
    for method in ("POST", "PUT"):
        assert_problem(label(client, episode, method, label=1), 409, "episode_running")
    answer = client.delete(f"/v1/episodes/{episode}/label")
    assert_problem(answer, 409, "episode_running")


@pytest.mark.parametrize(("given", "means"), [(0, 0), (1, 1), (False, 0), (True, 1)])
def test_a_label_is_a_bit_or_a_truth_value(client, episode, given, means):
    answer = label(client, episode, label=given)
    assert answer.status_code == 200
    body = answer.json()
    assert (body["episode"], body["label"], body["status"]) == (episode, means, "labelled")
    assert body["learning"] in ("queued", "running")
    assert read(client, episode)["label"] == means


@pytest.mark.parametrize("given", ["1.0", '"1"', "2", "null", "-1", "1e0", "[1]", "{}", "NaN"])
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_nothing_else_is_a_label(client, unlabelled, given, method):
    answer = client.request(
        method,
        f"/v1/episodes/{unlabelled}/label",
        content=f'{{"label": {given}}}',
        headers={"content-type": "application/json"},
    )
    assert assert_problem(answer, 422)["errors"][0]["pointer"] == "/label"
    assert read(client, unlabelled)["label"] is None


@pytest.fixture(scope="module")
def unlabelled(shared_server, agent):
    with shared_server.client() as client:
        episode = start_episode(client, agent, wait=False)
        play(client, episode, STATES)
        return episode


def test_the_same_label_twice_is_harmless_and_another_is_a_conflict(client, episode):
    assert label(client, episode, label=1).status_code == 200
    assert label(client, episode, label=True).status_code == 200
    problem = assert_problem(label(client, episode, label=0), 409, "already_labelled")
    assert "PUT" in problem["detail"]
    view = read(client, episode)
    assert view["label"] == 1
    assert len(view["labels"]) == 1


def test_a_label_can_be_replaced_and_withdrawn_and_the_history_is_kept(client, episode):
    label(client, episode, label=1, labeller="Ada", comment="clean grasp")
    assert label(client, episode, "PUT", label=0, labeller="Bob").json()["label"] == 0
    withdrawn = client.delete(f"/v1/episodes/{episode}/label").json()
    assert (withdrawn["label"], withdrawn["status"]) == (None, "awaiting_label")
    assert_problem(client.delete(f"/v1/episodes/{episode}/label"), 409, "not_labelled")
    assert label(client, episode, "PUT", label=1).status_code == 200
    view = read(client, episode)
    assert (view["label"], view["status"]) == (1, "labelled")
    history = [(one["label"], one["labeller"], one["comment"]) for one in view["labels"]]
    assert history == [
        (1, "Ada", "clean grasp"),
        (0, "Bob", None),
        (None, None, None),
        (1, None, None),
    ]
    times = [one["at"] for one in view["labels"]]
    assert times == sorted(times)
    assert view["labelled_at"] == times[-1]


def test_a_corrected_label_gives_the_model_of_the_right_label_from_the_start(client):
    played = [([0, 1, 2, 3, 3], 0), ([0, 0, 1, 1, 2], 1), ([3, 2, 1, 0, 0], 1), ([2] * 5, 0)]
    right, wrong = [1, 0, 1, 0], [0, 0, 0, 1]
    agents = [create_agent(client) for _ in range(2)]
    for agent, labels in zip(agents, (right, wrong), strict=True):
        pairs = zip(played, labels, strict=True)
        episodes = log(client, agent, *[(states, a, verdict) for (states, a), verdict in pairs])
        wait_learned(client, agent)
    before = model(client, agents[1])
    for episode, verdict in zip(episodes, right, strict=True):
        label(client, episode, "PUT", label=verdict)
        wait_learned(client, agents[1])
    expected, found = (model(client, agent) for agent in agents)
    assert found["weights"] == pytest.approx(expected["weights"], abs=MODEL_TOLERANCE)
    assert found["intercept"] == pytest.approx(expected["intercept"], abs=MODEL_TOLERANCE)
    assert before["weights"] != pytest.approx(expected["weights"], abs=1e-3)
    for name in ("visits", "transitions", "start"):
        assert found[name] == expected[name]


def test_a_withdrawn_label_gives_the_model_without_it(client):
    agents = [create_agent(client) for _ in range(2)]
    told, more = [([0, 1, 2, 3, 3], 0, 1), ([1] * 5, 1, 0)], ([2] * 5, 0, 1)
    log(client, agents[0], *told, (*more[:2], None))
    extra = log(client, agents[1], *told, more)[-1]
    wait_learned(client, agents[1])
    client.delete(f"/v1/episodes/{extra}/label")
    expected, found = (model(client, agent) for agent in agents)
    assert found["weights"] == pytest.approx(expected["weights"], abs=MODEL_TOLERANCE)
    assert found["intercept"] == pytest.approx(expected["intercept"], abs=MODEL_TOLERANCE)


def test_labels_in_any_order_give_the_same_model(client):
    played = [([0, 1, 2, 3, 3], 0, 1), ([0, 0, 1, 1, 2], 1, 0), ([3, 2, 1, 0, 0], 1, 1)]
    weights = []
    for order in ([0, 1, 2], [2, 0, 1]):
        agent = create_agent(client)
        episodes = log(client, agent, *[(states, action, None) for states, action, _ in played])
        for i in order:
            label(client, episodes[i], label=played[i][2])
            wait_learned(client, agent)
        weights.append(model(client, agent)["weights"])
    assert weights[0] == pytest.approx(weights[1], abs=MODEL_TOLERANCE)


@pytest.mark.parametrize("default", [0, 1, None])
def test_a_label_that_nobody_gives_in_time_is_the_default(client, default):
    agent = create_agent(client, label_timeout="PT1S", default_label=default)
    episode, judged = start_episode(client, agent), start_episode(client, agent)
    play(client, judged, STATES, label=1)
    play(client, episode, STATES)
    wait_until(lambda: read(client, episode)["status"] != "awaiting_label")
    view = read(client, episode)
    if default is None:
        assert (view["status"], view["label"], view["labels"]) == ("abandoned", None, [])
    else:
        assert (view["status"], view["label"]) == ("labelled", default)
        assert [one["labeller"] for one in view["labels"]] == ["timeout"]
        # A person who comes late is still right.
        assert label(client, episode, "PUT", label=1 - default).json()["label"] == 1 - default
    assert read(client, judged)["label"] == 1
    assert wait_learned(client, agent)["learning_error"] is None


@pytest.mark.parametrize("label", [0, 1])
def test_a_persons_label_replaces_a_default_label(client, label):
    agent = create_agent(client, label_timeout="PT1S", default_label=0)
    episode = start_episode(client, agent)
    play(client, episode, STATES)
    wait_until(lambda: read(client, episode)["status"] == "labelled")
    given = client.post(f"/v1/episodes/{episode}/label", json={"label": label, "labeller": "Ada"})
    assert (given.status_code, given.json()["label"]) == (200, label)
    view = read(client, episode)
    assert [(one["label"], one["labeller"]) for one in view["verdicts"]] == [(label, "Ada")]
    assert [one["labeller"] for one in view["labels"]] == ["timeout", "Ada"]
    other = client.post(f"/v1/episodes/{episode}/label", json={"label": 1 - label})
    assert_problem(other, 409, "already_labelled")


def test_who_withdraws_a_label_has_the_whole_timeout_again(client):
    agent = create_agent(client, label_timeout="PT2S", default_label=0)
    episode = start_episode(client, agent)
    play(client, episode, STATES, label=1)
    time.sleep(2.5)  # by now it would have been due
    assert read(client, episode)["label"] == 1
    withdrawn = time.monotonic()
    assert client.delete(f"/v1/episodes/{episode}/label").json()["status"] == "awaiting_label"
    wait_until(lambda: read(client, episode)["status"] != "awaiting_label", seconds=10)
    assert time.monotonic() - withdrawn > 1.9
    assert [one["labeller"] for one in read(client, episode)["labels"]] == [None, None, "timeout"]


def test_what_is_imported_is_never_overdue(client):
    agent = create_agent(client, label_timeout="PT1S", default_label=0)
    waiting, withdrawn = log(client, agent, ([0] * 5, 0, None), ([1] * 5, 0, 1))
    client.delete(f"/v1/episodes/{withdrawn}/label").raise_for_status()
    time.sleep(2.5)
    for episode in (waiting, withdrawn):
        assert read(client, episode)["status"] == "awaiting_label"


def test_labels_and_timeouts_come_after_a_restart_too(start_server):
    server = start_server()
    with server.client() as client:
        agent = create_agent(client)
        hasty = create_agent(client, label_timeout="PT2S", default_label=1)
        late, finished = start_episode(client, agent), start_episode(client, agent)
        overdue = start_episode(client, hasty)
        play(client, late, STATES)
        play(client, finished, STATES, label=0)
        play(client, overdue, STATES)
        wait_learned(client, agent)
    assert server.stop() == 0
    server.start()
    with server.client() as client:
        assert label(client, late, label=1).status_code == 200
        assert label(client, finished, "PUT", label=1).status_code == 200
        view = wait_learned(client, agent)
        assert (view["episodes"]["labelled"], view["success_rate"]) == (2, 1.0)
        assert [one["label"] for one in read(client, finished)["labels"]] == [0, 1]
        wait_until(lambda: read(client, overdue)["label"] == 1)
        found = model(client, agent)
        # What was learned before the restart and after it is one model.
        same = create_agent(client)
        play_all = [read(client, episode)["steps"] for episode in (late, finished)]
        body = {
            "trajectories": [
                {
                    "states": [one["state"] for one in steps],
                    "actions": [one["action"] for one in steps],
                    "label": 1,
                }
                for steps in play_all
            ]
        }
        client.post(f"/v1/agents/{same}/trajectories", json=body)
        assert model(client, same)["weights"] == pytest.approx(
            found["weights"], abs=MODEL_TOLERANCE
        )


@pytest.fixture(scope="module")
def known_and_novel(shared_server):
    """An agent that knows state 0 well and has an episode in state 3 that is like no other."""
    with shared_server.client() as client:
        agent = create_agent(client)
        known = [([0] * 5, 0, i % 2) for i in range(30)] + [([1] * 5, 0, 1) for _ in range(30)]
        log(client, agent, *known)
        waiting = log(client, agent, ([0] * 5, 0, None), ([3] * 5, 0, None), ([1] * 5, 0, None))
        wait_learned(client, agent)
        return agent, waiting


def test_the_most_informative_episode_is_the_one_like_no_other(client, known_and_novel):
    agent, (coin, novel, sure) = known_and_novel
    items = queue(client, agent=agent, order="informative")["items"]
    # State 0 is a coin whose bias is known, state 1 is all but certain: neither teaches much.
    assert items[0]["id"] == novel
    assert {items[1]["id"], items[2]["id"]} == {coin, sure}
    scores = [item["information"] for item in items]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 5 * scores[1]
    assert 0 <= scores[2] < scores[0] < 0.7  # ln 2 nats is all that a label can tell


def test_oldest_and_newest_are_the_order_of_numbers(client, known_and_novel):
    agent, waiting = known_and_novel
    oldest = queue(client, agent=agent, order="oldest")["items"]
    newest = queue(client, agent=agent, order="newest")["items"]
    assert [item["id"] for item in oldest] == waiting
    assert [item["id"] for item in newest] == waiting[::-1]
    assert all(item["information"] is None for item in oldest)


@pytest.mark.parametrize("order", ["informative", "oldest", "newest"])
@pytest.mark.parametrize("scope", ["agent", "all"])
def test_pages_of_the_queue_hold_every_episode_once(client, known_and_novel, order, scope):
    agent, waiting = known_and_novel
    query = {"order": order} | ({"agent": agent} if scope == "agent" else {})
    whole = [item["id"] for item in queue(client, limit=500, **query)["items"]]
    seen, cursor = [], None
    for _ in range(100):
        page = queue(client, limit=2, **query, **({} if cursor is None else {"cursor": cursor}))
        seen += [item["id"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == whole
    assert set(waiting) <= set(seen)
    assert len(seen) == len(set(seen))


def test_a_label_takes_an_episode_out_of_the_queue(client):
    agent = create_agent(client)
    first, second = log(client, agent, ([0] * 5, 0, None), ([1] * 5, 0, None))
    for order in ("informative", "oldest"):
        assert len(queue(client, agent=agent, order=order)["items"]) == 2
    label(client, first, label=1)
    for order in ("informative", "oldest"):
        items = queue(client, agent=agent, order=order)["items"]
        assert [item["id"] for item in items] == [second]


@pytest.mark.parametrize(
    "query",
    [
        {"order": "best"},
        {"status": "lost"},
        {"order": "informative", "status": "running"},
        {"order": "informative", "external_id": "a"},
        {"cursor": "1-2"},
        {"order": "informative", "cursor": "1-2-3"},
        {"limit": 0},
    ],
)
def test_a_question_to_the_queue_that_makes_no_sense_is_refused(client, query):
    problem = assert_problem(client.get("/v1/episodes", params=query), 422)
    assert problem["errors"][0]["parameter"] in query
