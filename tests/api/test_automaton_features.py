"""Automaton features over HTTP: agents learn and explain with them; what is wrong is refused."""

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

# Good: action 1 was taken in state 2. The automaton remembers it.
TOOK_IT = {
    "kind": "automaton",
    "transitions": [[[0, 0], [0, 0], [0, 1], [0, 0]], [[1, 1]] * 4],
    "vectors": [[0.0], [1.0]],
}
PAPER = {"constants": "paper", "episodes": 1000, "norm_bound": 1.0}
KINDS = {
    "thompson": {"kind": "thompson"},
    "ucbvi": {"kind": "ucbvi"},
    "ucbvi, paper": PAPER | {"kind": "ucbvi", "epsilon": 0.5},
    "ucbvi, paper's planner": PAPER | {"kind": "ucbvi", "planner": "paper", "paper_epsilon": 40.0},
    "ucbvi_exact": {"kind": "ucbvi_exact"},
}


@pytest.mark.parametrize("algorithm", KINDS.values(), ids=list(KINDS))
def test_an_agent_plays_learns_and_explains(client, algorithm):
    agent = create_agent(client, features=TOOK_IT, algorithm=algorithm, horizon=3)
    for _ in range(4):
        episode = start_episode(client, agent)
        actions = play(client, episode, [0, 2, 1])
        answer = client.post(f"/v1/episodes/{episode}/label", json={"label": actions[1]})
        assert answer.status_code == 200, answer.text
    assert wait_learned(client, agent)["learning_error"] is None
    model = client.get(f"/v1/agents/{agent}/model").json()
    assert model["features"] == "an automaton of 2 states with 1 features"
    assert len(model["weights"]) == 1
    episode = start_episode(client, agent)
    step = client.post(f"/v1/episodes/{episode}/steps", json={"state": 2, "explain": True}).json()
    assert 0.0 <= step["explanation"]["success_probability"] <= 1.0


def test_its_pages_can_be_read(client):
    agent = create_agent(client, features=TOOK_IT)
    episode = start_episode(client, agent)
    play(client, episode, STATES, label=1)
    wait_learned(client, agent)
    for path in (f"/agents/{agent}", f"/episodes/{episode}"):
        assert client.get(path, follow_redirects=True).status_code == 200


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"transitions": [[0] * 4, [0, 1, 2, 0]]}, "transitions", "[1][2] is 2"),
        ({"transitions": [[0] * 4, [0, -1, 0, 0]]}, "transitions", "[1][1] is -1"),
        ({"transitions": [[0] * 4, [0] * 3]}, "transitions", "none ragged"),
        ({"transitions": [[0] * 3] * 2}, "transitions", "(2, 4, 2)"),
        ({"transitions": [[0.0] * 4] * 2}, "transitions", "whole numbers"),
        ({"transitions": [["0"] * 4] * 2}, "transitions", "whole numbers"),
        ({"transitions": []}, "transitions", "at least 1"),
        ({"transitions": [[0] * 4] * 4097}, "transitions", "at most 4096"),
        ({"vectors": [[0.0]]}, "vectors", "a vector for each state"),
        ({"vectors": [[0.0], [1e300]]}, "vectors", "0, or numbers"),
        ({"vectors": [[0.0], [None]]}, "vectors", "numbers"),
        ({"vectors": [[], []]}, "vectors", "(2, d)"),
        ({"vectors": [0.0, 1.0]}, "vectors", "(2, d)"),
        ({"ends": [[0] * 4]}, "ends", "(2, 4)"),
        ({"ends": [[0] * 4, [7] * 4]}, "ends", "is 7"),
        ({"accepting": [1]}, "accepting", ""),
    ],
)
def test_what_is_no_automaton_is_refused_where_it_stands(client, changes, pointer, words):
    answer = client.post("/v1/agents", json=LAKE | {"features": TOOK_IT | changes})
    problem = assert_problem(answer, 422, "invalid_value")
    assert problem["errors"][0]["pointer"] == f"/features/{pointer}"
    assert words in problem["detail"]


def test_features_that_are_not_finite_are_refused(client):
    body = json.dumps(LAKE | {"features": TOOK_IT | {"vectors": [[0.0], [float("nan")]]}})
    headers = {"content-type": "application/json"}
    assert_problem(client.post("/v1/agents", content=body, headers=headers), 422)


def test_too_large_a_product_says_what_to_lower(client):
    large = {
        "kind": "automaton",
        "transitions": [[0] * 1000] * 2000,
        "vectors": [[0.0]] * 2000,
    }
    body = LAKE | {"states": 1000, "horizon": 50, "features": large}
    problem = assert_problem(client.post("/v1/agents", json=body), 422, "too_large")
    assert "automaton states" in problem["detail"]


def test_a_kind_that_needs_sums_over_steps_refuses_it(client):
    body = LAKE | {"features": TOOK_IT, "algorithm": {"kind": "ucbvi_explore"}}
    problem = assert_problem(client.post("/v1/agents", json=body), 422)
    assert "no sums over steps" in problem["detail"]
