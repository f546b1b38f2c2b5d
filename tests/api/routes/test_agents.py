"""Agents as a resource: views, metadata, pages, changes, pauses, the end."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from tests.support.running import (
    LAKE,
    assert_problem,
    create_agent,
    play,
    start_episode,
    wait_learned,
)

VIEW = {
    "allowed",
    "deadline_ms",
    "fallback_action",
    "max_exploration",
    "id",
    "name",
    "states",
    "actions",
    "horizon",
    "features",
    "algorithm",
    "seed",
    "initial_states",
    "labels_wanted",
    "label_timeout",
    "default_label",
    "running_timeout",
    "wait",
    "shortened",
    "metadata",
    "display",
    "question",
    "guidelines",
    "guidelines_version",
    "examples",
    "paused",
    "created_at",
    "episodes",
    "policy_version",
    "pinned_version",
    "learning",
    "learning_error",
    "success_rate",
    "plan",
    "timing",
    "evaluation",
    "progress",
    "warnings",
}


def test_a_view_carries_the_specification_and_where_the_agent_stands(client):
    answer = client.post("/v1/agents", json=LAKE | {"metadata": {"site": 3}})
    assert answer.status_code == 201
    view = answer.json()
    assert answer.headers["location"] == f"/v1/agents/{view['id']}"
    assert set(view) == VIEW
    assert {name: view[name] for name in ("name", "states", "actions", "horizon", "seed")} == {
        name: LAKE[name] for name in ("name", "states", "actions", "horizon", "seed")
    }
    assert view["features"] == {"kind": "one_hot", "over": ["state"], "steps": "all"}
    assert view["metadata"] == {"site": 3}
    assert view["episodes"] == dict.fromkeys(
        ("running", "awaiting_label", "labelled", "completed", "abandoned"), 0
    )
    assert view["success_rate"] is None
    assert view["id"].startswith("agt_")
    assert datetime.fromisoformat(view["created_at"]).utcoffset().total_seconds() == 0
    ready = wait_learned(client, view["id"])
    assert set(ready["plan"]) == {"planner", "value", "optimistic_value", "gap", "seconds"}
    assert ready["learning"] == "idle"
    assert client.get(f"/v1/agents/{view['id']}").json() == ready


@pytest.mark.parametrize(
    "metadata",
    [
        '{"a": NaN}',
        '{"a": [1e400]}',
        '{"a": "%s"}' % ("x" * 16_000),
        '{"a": "\\ud800"}',
        '{"\\ud800": 1}',
        '{"a": %s}' % ("[" * 400 + "]" * 400),
        "[1]",
        '"text"',
    ],
)
@pytest.mark.parametrize("where", ["create", "change", "start", "import"])
def test_metadata_is_bounded_json(client, quiet_agent, metadata, where):
    path = f"/v1/agents/{quiet_agent}"
    method, path, body = {
        "create": ("POST", "/v1/agents", LAKE | {"metadata": "here"}),
        "change": ("PATCH", path, {"metadata": "here"}),
        "start": ("POST", f"{path}/episodes", {"metadata": "here"}),
        "import": (
            "POST",
            f"{path}/trajectories",
            {"trajectories": [{"states": [0], "actions": [0], "metadata": "here"}]},
        ),
    }[where]
    answer = client.request(
        method,
        path,
        content=json.dumps(body).replace('"here"', metadata),
        headers={"content-type": "application/json"},
    )
    place = "/trajectories/0/metadata" if where == "import" else "/metadata"
    assert assert_problem(answer, 422)["errors"][0]["pointer"].startswith(place)


@pytest.fixture(scope="module")
def quiet_agent(shared_server):
    with shared_server.client() as client:
        agent = create_agent(client)
        wait_learned(client, agent)
        return agent


def test_metadata_comes_back_as_it_was(client):
    metadata = {"π": "🌊", "deep": {"list": [1, 2.5, None, True]}, "big": 2**60}
    agent = create_agent(client, metadata=metadata)
    assert client.get(f"/v1/agents/{agent}").json()["metadata"] == metadata


def test_pages_hold_every_agent_once_in_the_order_of_creation(client):
    made = [create_agent(client, name=f"page {i}", algorithm={"kind": "uniform"}) for i in range(5)]
    seen, cursor = [], None
    while True:
        query = {"limit": 2} | ({} if cursor is None else {"cursor": cursor})
        page = client.get("/v1/agents", params=query).json()
        assert len(page["items"]) <= 2
        seen += [view["id"] for view in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen))
    assert [agent for agent in seen if agent in made] == made


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 501}, {"limit": "x"}, {"cursor": "x"}, {"cursor": "-1"}]
)
def test_a_page_that_is_none_is_refused(client, query):
    problem = assert_problem(client.get("/v1/agents", params=query), 422)
    assert problem["errors"][0]["parameter"] in query


def test_name_metadata_and_display_can_be_changed(client, quiet_agent):
    display = {"kind": "grid", "rows": 2, "cols": 2}
    changes = {"name": "pond", "metadata": {"a": 1}, "display": display}
    view = client.patch(f"/v1/agents/{quiet_agent}", json=changes).json()
    assert {field: view[field] for field in changes} == changes
    after = client.patch(f"/v1/agents/{quiet_agent}", json={"display": None}).json()
    assert after["display"] is None
    assert after["name"] == "pond"
    assert client.get(f"/v1/agents/{quiet_agent}").json() == after


@pytest.mark.parametrize(
    "changes",
    [{"name": None}, {"metadata": None}, {"paused": None}, {"paused": 1}, {"seed": 1}, {"name": 1}],
)
def test_what_fixes_learning_and_what_is_no_value_cannot_be_changed(client, quiet_agent, changes):
    problem = assert_problem(client.patch(f"/v1/agents/{quiet_agent}", json=changes), 422)
    assert problem["errors"][0]["pointer"] == "/" + next(iter(changes))


def test_two_changes_at_once_are_both_made(shared_server, client):
    agent = create_agent(client)
    for attempt in range(10):

        def change(body):
            with shared_server.client() as own:
                return own.patch(f"/v1/agents/{agent}", json=body).status_code

        bodies = [{"name": f"name {attempt}"}, {"metadata": {"attempt": attempt}}]
        with ThreadPoolExecutor(2) as threads:
            assert list(threads.map(change, bodies)) == [200, 200]
        view = client.get(f"/v1/agents/{agent}").json()
        assert (view["name"], view["metadata"]) == (f"name {attempt}", {"attempt": attempt})


def test_a_paused_agent_starts_no_episodes_but_goes_on_with_those_that_run(client):
    agent = create_agent(client)
    episode = start_episode(client, agent)
    assert client.patch(f"/v1/agents/{agent}", json={"paused": True}).json()["paused"]
    answer = client.post(f"/v1/agents/{agent}/episodes", json={})
    assert_problem(answer, 409, "agent_paused")
    play(client, episode, [0, 1, 2, 3, 3], label=1)
    assert wait_learned(client, agent)["episodes"]["labelled"] == 1
    client.patch(f"/v1/agents/{agent}", json={"paused": False})
    assert start_episode(client, agent)


def test_a_deleted_agent_is_gone_with_its_episodes(client):
    agent = create_agent(client)
    over, running = start_episode(client, agent), start_episode(client, agent)
    play(client, over, [0, 1, 2, 3, 3], label=1)
    play(client, running, [0])
    answer = client.delete(f"/v1/agents/{agent}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert_problem(client.get(f"/v1/agents/{agent}"), 404, "not_found")
    assert_problem(client.delete(f"/v1/agents/{agent}"), 404)
    assert_problem(client.post(f"/v1/agents/{agent}/episodes", json={}), 404)
    for episode in (over, running):
        path = f"/v1/episodes/{episode}"
        assert_problem(client.get(path), 404)
        assert_problem(client.post(f"{path}/steps", json={"state": 0}), 404)
        assert_problem(client.put(f"{path}/label", json={"label": 0}), 404)
    entry = client.post("/v1/steps", json={"steps": [{"episode": running, "state": 1}]}).json()
    assert entry["results"][0]["problem"]["status"] == 404
    assert_problem(client.get("/v1/episodes", params={"agent": agent}), 404)
