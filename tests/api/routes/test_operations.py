"""For operators: alive, ready, and numbers that Prometheus can read."""

from importlib.metadata import version

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.running import create_agent, play, start_episode, wait_learned, wait_until


def samples(client):
    """Every number of /metrics: {(name, labels): value}."""
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_it_is_alive_and_says_its_version(client):
    assert client.get("/healthz").json() == {
        "status": "ok",
        "version": version("plaudit"),
        "reason": None,
    }


def test_it_is_ready_once_it_can_learn(client):
    wait_until(lambda: client.get("/readyz").status_code == 200, seconds=180)
    assert client.get("/readyz").json()["status"] == "ok"


def test_metrics_count_what_happens(client):
    agent = create_agent(client)
    before = samples(client)
    play(client, start_episode(client, agent), [0, 1, 2, 3, 3], label=1)
    wait_learned(client, agent)
    after = samples(client)

    def more(name, **labels):
        place = name, frozenset(labels.items())
        return after[place] - before.get(place, 0.0)

    assert more("plaudit_steps_total") == 5
    assert more("plaudit_episodes_total") == 1
    assert more("plaudit_labels_total", label="1") == 1
    route = "/v1/episodes/{episode}/steps"
    assert more("plaudit_requests_total", method="POST", route=route, status="200") == 5
    assert more("plaudit_request_seconds_count", route=route) == 5
    assert more("plaudit_learning_seconds_count", part="plan") >= 1
    assert more("plaudit_commits") > 0
    assert after["plaudit_agents_loaded", frozenset()] >= 1
    assert after["plaudit_learning_failures_total", frozenset()] == 0


@pytest.mark.parametrize("path", ["/nowhere", "/v1/agents/agt_x", "/v1/episodes/eps_x"])
def test_routes_of_metrics_are_templates_not_addresses(client, path):
    client.get(path)
    routes = {dict(labels).get("route") for _, labels in samples(client)}
    assert path not in routes
