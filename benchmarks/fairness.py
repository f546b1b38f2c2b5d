"""How long a small agent waits for its policy beside heavy agents, over how long it waits alone.

    python -m benchmarks.fairness [--repeats N] [--json]

A real server with two learning processes, one of them for long jobs. A small agent (3 states, 3
steps) gets a label and starts its next episode, which waits until the label is learned. First it
is alone; then a heavy agent learns all the time, and then two. The last column is the slowest
`/healthz` while the policy of the heavy agent is downloaded. Exits 1 when a median ratio misses its
limit.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.serving.servers import Server, plaudit_server

LIMIT = 10.0  # of the median; two processes that learn share the processor with the server
SHAPES = ((1000, 10_000, 2), (100, 1000, 200))  # states, horizon, actions
LAST = {"kind": "one_hot", "over": ["state"], "steps": "last"}
LARGER = {"PLAUDIT_JOB_SECONDS": "600", "PLAUDIT_LEARNING_SECONDS": "600"}


def small_agent(server: Server) -> str:
    """The id of a small agent."""
    body = {"name": "small", "states": 3, "actions": 2, "horizon": 3}
    return str(server.post("/v1/agents", body)["id"])


def label_to_policy(server: Server, agent: str, repeats: int) -> list[float]:
    """Seconds from a label to the start of the next episode, which waits for its policy."""
    seconds = []
    started = server.post(f"/v1/agents/{agent}/episodes", {})
    for number in range(repeats):
        for state in range(3):
            server.post(f"/v1/episodes/{started['id']}/steps", {"state": state})
        began = time.perf_counter()
        server.post(f"/v1/episodes/{started['id']}/label", {"label": number % 2})
        started = server.post(f"/v1/agents/{agent}/episodes", {})
        seconds.append(time.perf_counter() - began)
    return seconds


class Heavy:
    """A heavy agent, which gets a labelled episode whenever it has learned the last."""

    def __init__(self, server: Server, shape: tuple[int, int, int]) -> None:
        self._shape = shape
        states, horizon, actions = shape
        body = {
            "name": "heavy",
            "states": states,
            "horizon": horizon,
            "actions": actions,
            "features": LAST,
        }
        self._client = httpx.Client(base_url=server.url, timeout=300.0)
        self.id = str(server.post("/v1/agents", body)["id"])
        self.jobs = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._learn)
        self._thread.start()

    def _learn(self) -> None:
        rng, (states, horizon, actions) = random.Random(1), self._shape
        while not self._stopped.wait(0.1):
            if self._client.get(f"/v1/agents/{self.id}").json()["learning"] == "idle":
                played = {
                    "states": [rng.randrange(states) for _ in range(horizon)],
                    "actions": [rng.randrange(actions) for _ in range(horizon)],
                    "label": self.jobs % 2,
                }
                path = f"/v1/agents/{self.id}/trajectories"
                self._client.post(path, json={"trajectories": [played]}).raise_for_status()
                self.jobs += 1

    def stop(self) -> None:
        """Teach it no more."""
        self._stopped.set()
        self._thread.join()

    def wait(self) -> None:
        """Wait until it has learned everything."""
        while self._client.get(f"/v1/agents/{self.id}").json()["learning"] != "idle":
            time.sleep(0.2)


def slowest_health(server: Server, agent: str) -> tuple[float, float]:
    """Megabytes of a policy, and the slowest `/healthz` in seconds while it is downloaded."""
    slowest, over, size = 0.0, threading.Event(), 0

    def download() -> None:
        nonlocal size
        with httpx.Client(base_url=server.url, timeout=300.0) as client:
            size = len(client.get(f"/v1/agents/{agent}/policy").content)
        over.set()

    thread = threading.Thread(target=download)
    thread.start()
    while not over.is_set():
        began = time.perf_counter()
        server.client.get("/healthz").raise_for_status()
        slowest = max(slowest, time.perf_counter() - began)
        time.sleep(0.01)
    thread.join()
    return size / 1e6, slowest


@contextmanager
def heavy_agents(server: Server, shapes: tuple[tuple[int, int, int], ...]) -> Iterator[list[Heavy]]:
    """Heavy agents that learn."""
    heavy = [Heavy(server, shape) for shape in shapes]
    try:
        yield heavy
    finally:
        for agent in heavy:
            agent.stop()


def measure(repeats: int) -> list[dict[str, float | str]]:
    """A row for the small agent alone, and for it beside heavy agents."""
    rows: list[dict[str, float | str]] = []
    with tempfile.TemporaryDirectory() as folder:
        server = plaudit_server(Path(folder), "FULL", **LARGER)
        try:
            agent = small_agent(server)
            label_to_policy(server, agent, 5)
            alone = label_to_policy(server, agent, repeats)
            rows.append(_row("alone", alone, alone))
            for shapes in ((SHAPES[0],), (SHAPES[1],), SHAPES):
                name = " and ".join(" x ".join(map(str, shape)) for shape in shapes)
                with heavy_agents(server, shapes) as heavy:
                    time.sleep(2.0)
                    beside = label_to_policy(server, agent, repeats)
                row = _row(f"beside {name}", beside, alone)
                if len(shapes) == 1:
                    heavy[0].wait()
                    row["policy MB"], row["slowest /healthz"] = slowest_health(server, heavy[0].id)
                rows.append(row)
        finally:
            server.stop()
    return rows


def _row(name: str, seconds: list[float], alone: list[float]) -> dict[str, float | str]:
    median, worst = statistics.median(seconds), max(seconds)
    ratio = median / statistics.median(alone)
    return {"small agent": name, "median s": median, "worst s": worst, "ratio": ratio}


def main() -> int:
    """Measure, print, and compare with the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.repeats)
    if options.json:
        print(json.dumps(rows))
    else:
        _print(rows)
    return int(any(float(row["ratio"]) > LIMIT for row in rows))


def _print(rows: list[dict[str, float | str]]) -> None:
    table = Table()
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        table.add_column(name)
    for row in rows:
        cells = [row.get(name, "") for name in names]
        table.add_row(*(f"{cell:.3g}" if isinstance(cell, float) else cell for cell in cells))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
