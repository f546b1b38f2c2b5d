"""Every kind that has the paper's constants, over HTTP: it plays, learns, and says its numbers."""

import math

import pytest

from tests.support.running import assert_problem, create_agent, play, start_episode, wait_learned

SMALL = {
    "states": {"kind": "discrete", "n": 2},
    "actions": {"kind": "discrete", "n": 2},
    "horizon": 2,
    "features": None,
}
PAPER = {"constants": "paper", "episodes": 1000, "norm_bound": 1.0, "delta": 0.1}
KINDS = {
    "ucbvi": PAPER | {"kind": "ucbvi", "epsilon": 0.5},
    "ucbvi, the paper's planner": PAPER
    | {"kind": "ucbvi", "planner": "paper", "paper_epsilon": 4.0},
    "ucbvi_exact": PAPER | {"kind": "ucbvi_exact"},
    "ucbvi_explore": PAPER
    | {"kind": "ucbvi_explore", "epsilon": 0.5, "n_euler": 1, "n_eval": 1, "max_loops": 2},
}
SPLIT = {"ucbvi": 6, "ucbvi_exact": 6, "ucbvi_explore": 12}


@pytest.mark.parametrize("algorithm", KINDS.values(), ids=list(KINDS))
def test_it_plays_learns_and_says_its_numbers(client, algorithm):
    agent = create_agent(client, **SMALL, algorithm=algorithm)
    labels = 0
    for number in range(20):
        started = client.post(f"/v1/agents/{agent}/episodes", json={}).json()
        play(client, started["id"], [number % 2, 1], 1 if started["label_required"] else None)
        labels += started["label_required"]
        if labels == 4:
            break
    assert labels == 4
    wait_learned(client, agent)
    said = client.get(f"/v1/agents/{agent}/model").json()["optimism"]
    kappa = math.e + 2.0 + 1.0 / math.e
    assert said["kappa"] == pytest.approx(kappa, rel=1e-12)
    assert said["delta"] == pytest.approx(0.1 / (SPLIT[algorithm["kind"]] * 1000), rel=1e-12)
    assert said["radius"] == pytest.approx(math.sqrt(kappa) * said["beta"], rel=1e-12)
    assert said["condition_number"] <= said["condition_bound"]
    assert said["scale"] == pytest.approx(math.sqrt(2.0))
    assert (said["informative_from"] is None) == (algorithm["kind"] == "ucbvi")
    assert said["value"] > 1.0  # saturated, and the bonuses of what is unknown


def test_the_papers_planner_serves_its_policy(client):
    agent = create_agent(client, **SMALL, algorithm=KINDS["ucbvi, the paper's planner"])
    play(client, start_episode(client, agent), [0, 1], 1)
    wait_learned(client, agent)
    assert client.get(f"/v1/agents/{agent}/policy").json()["policy"]["kind"] == "paper"


def test_a_problem_that_the_papers_planner_cannot_carry_is_refused(client):
    algorithm = KINDS["ucbvi, the paper's planner"] | {"paper_epsilon": 0.001}
    answer = client.post("/v1/agents", json=SMALL | {"name": "large", "algorithm": algorithm})
    assert_problem(answer, 422, "too_large")
    assert "paper_epsilon" in answer.json()["detail"]
