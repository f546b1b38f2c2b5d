"""Demos over HTTP."""

import time

import pytest


def test_a_demo_is_started_listed_and_removed(client):
    body = {"task": "frozenlake-4x4", "episodes": 2, "evaluations": 1}
    answer = client.post("/v1/demos", json=body)
    assert answer.status_code == 201
    started = answer.json()
    assert started["task"]["title"] == "Frozen lake"
    assert 0 < started["random_success"] < started["best_success"] < 1
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        listed = client.get("/v1/demos").json()
        (demo,) = [item for item in listed["items"] if item["agent"] == started["agent"]]
        if not demo["running"]:
            break
        time.sleep(0.05)
    assert (demo["played"], demo["evaluated"], demo["running"]) == (2, 1, False)
    assert {task["name"] for task in listed["tasks"]} >= {"frozenlake-4x4", "grid"}
    assert client.delete(f"/v1/agents/{started['agent']}").status_code == 204
    left = client.get("/v1/demos").json()["items"]
    assert started["agent"] not in [item["agent"] for item in left]


def test_a_retry_with_the_same_key_starts_one_demo(client):
    body = {"task": "frozenlake-4x4", "episodes": 1, "evaluations": 0}
    headers = {"Idempotency-Key": "one-demo"}
    first, second = (client.post("/v1/demos", json=body, headers=headers).json() for _ in range(2))
    assert first["agent"] == second["agent"]
    client.delete(f"/v1/agents/{first['agent']}")


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ({"task": "chess"}, 404, "No demo task with id 'chess'."),
        ({}, 422, "task"),
        ({"task": "grid", "judge": "nobody"}, 422, "judge"),
        ({"task": "grid", "episodes": 0}, 422, "episodes"),
    ],
)
def test_bad_demos(client, body, status, detail):
    answer = client.post("/v1/demos", json=body)
    assert answer.status_code == status
    assert detail in answer.json()["detail"]
