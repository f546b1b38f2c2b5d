"""Episodes a second of a fleet of 32, with one call for each start, finish and label, and with few.

    python -m benchmarks.serving.fleet            a table for docs/speed.md
    python -m benchmarks.serving.fleet --rounds 3 fewer rounds

One client plays 32 episodes side by side and steps them with `POST /v1/steps` in both ways. Rounds
of the two ways alternate, so that what else the machine does hits both alike.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from benchmarks.serving.servers import plaudit_server

FLEET, HORIZON = 32, 20
AGENT = {
    "name": "fleet",
    "states": 16,
    "actions": 4,
    "horizon": HORIZON,
    "features": {"kind": "one_hot", "over": ["state"], "steps": "last"},
}


def play_singly(client: httpx.Client, agent: str) -> None:
    """One call for each start, finish and label."""
    start = {"wait": False}
    fleet = [_post(client, f"/v1/agents/{agent}/episodes", start)["id"] for _ in range(FLEET)]
    _step(client, fleet, range(HORIZON - 1))
    for number, episode in enumerate(fleet):
        _post(client, f"/v1/episodes/{episode}/finish", {"state": 15})
        _post(client, f"/v1/episodes/{episode}/label", {"label": number % 2})


def play_together(client: httpx.Client, agent: str) -> None:
    """All starts with their first step in one call, and all finishes with their labels."""
    starts = [{"agent": agent, "wait": False, "state": 0}] * FLEET
    started = _post(client, "/v1/episodes", {"episodes": starts})["results"]
    fleet = [entry["result"]["id"] for entry in started]
    _step(client, fleet, range(1, HORIZON - 1))
    finishes = [
        {"episode": episode, "state": 15, "label": number % 2}
        for number, episode in enumerate(fleet)
    ]
    _post(client, "/v1/finishes", {"finishes": finishes})


def _step(client: httpx.Client, fleet: list[str], steps: range) -> None:
    for step in steps:
        entries = [{"episode": episode, "state": step % 16, "step": step} for episode in fleet]
        _post(client, "/v1/steps", {"steps": entries})


def _post(client: httpx.Client, path: str, body: object) -> Any:
    return client.post(path, json=body).raise_for_status().json()


def main(rounds: Annotated[int, typer.Option(help="of each way")] = 8) -> None:
    """Measure both ways in turn, and print the medians."""
    ways: dict[str, Callable[[httpx.Client, str], None]] = {
        "one call for each start, finish and label": play_singly,
        "starts with a state, finishes with a label, many in one call": play_together,
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        server = plaudit_server(Path(folder), "FULL")
        try:
            agent = _post(server.client, "/v1/agents", AGENT)["id"]
            for turn in range(rounds + 1):
                for name, play in ways.items():
                    began = time.perf_counter()
                    play(server.client, agent)
                    if turn:  # the first warms up
                        found[name].append(FLEET / (time.perf_counter() - began))
        finally:
            server.stop()
    print(f"| a fleet of {FLEET}, {HORIZON} steps | episodes a second |\n|---|---|")
    for name, rates in found.items():
        print(f"| {name} | {statistics.median(rates):.0f} |")


if __name__ == "__main__":
    typer.run(main)
