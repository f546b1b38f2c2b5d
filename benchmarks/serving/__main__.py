"""How fast the service is, as ratios to a bare endpoint in the same interleaved run.

    python -m benchmarks.serving            a table
    python -m benchmarks.serving --json     the same as JSON
    python -m benchmarks.serving --quick    shorter, for a first look

Every round loads each server in turn, with the bare endpoint before and after each, so that what
else the machine does hits all alike: a load is held against the two bare ones beside it, and the
median over rounds is reported beside its limit.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from app.service.runtime.ids import read_agent_id
from app.simulation.environment import Environment
from app.simulation.tasks import load_task
from benchmarks.serving.load import Load, put_load, tool
from benchmarks.serving.servers import Server, bare_server, plaudit_server

EPISODES = 256
STATES, ACTIONS, HORIZON = 16, 4, 4000
MANY, FLEETS = 64, 8  # steps in one call, and connections that make such calls
AGENT = {
    "name": "load",
    "states": {"kind": "discrete", "n": STATES},
    "actions": {"kind": "discrete", "n": ACTIONS},
    "horizon": HORIZON,
    "features": {"kind": "one_hot", "over": ["state"], "steps": "last"},
}
SLOW_AGENT = {  # whose plans take about two seconds
    "name": "slow",
    "states": {"kind": "discrete", "n": 500},
    "actions": {"kind": "discrete", "n": 6},
    "horizon": 200,
    "features": {"kind": "one_hot", "over": ["state"]},
}


@dataclass(frozen=True)
class Measured:
    """One ratio and the limit that it should keep."""

    name: str
    value: float
    limit: str
    holds: bool

    def row(self) -> str:
        """For people."""
        mark = "ok" if self.holds else "MISSED"
        return f"{self.name:<58} {self.value:8.2f}   {self.limit:<14} {mark}"


def main(
    as_json: Annotated[bool, typer.Option("--json")] = False,
    quick: Annotated[bool, typer.Option("--quick")] = False,
    rounds: int = 7,
    seconds: float = 3.0,
) -> None:
    """Measure serving."""
    if quick:
        rounds, seconds = 2, 2.0
    with tempfile.TemporaryDirectory() as folder:
        measured, details = _measure(Path(folder), rounds, seconds)
    if as_json:
        print(json.dumps({"ratios": [vars(result) for result in measured], **details}, indent=1))
        return
    for result in measured:
        print(result.row())
    print(json.dumps(details, indent=1))


def _measure(folder: Path, rounds: int, seconds: float) -> tuple[list[Measured], dict[str, Any]]:
    bare = bare_server()
    full, normal = (plaudit_server(folder / sync, sync) for sync in ("FULL", "NORMAL"))
    try:
        measured, details = _throughput(bare, full, normal, rounds, seconds)
        measured.append(_while_planning(full, rounds, seconds))
        details["label_to_policy"] = _label_to_policy(full)
    finally:
        for server in (bare, full, normal):
            server.stop()
    growth, sizes = _growth(folder / "growth", seconds)
    return [*measured, growth], details | {"steps_per_second_by_rows": sizes, "load": tool()}


def _throughput(
    bare: Server, full: Server, normal: Server, rounds: int, seconds: float
) -> tuple[list[Measured], dict[str, Any]]:
    def load_bare() -> Load:
        return put_load(bare.url, _singles(["eps_0123456789_0"]), 64, seconds)

    plays: dict[str, list[tuple[Load, Load, Load]]] = {"full": [], "normal": [], "many": []}
    after = load_bare()
    for _ in range(rounds):
        for name, server in (("full", full), ("normal", normal), ("many", full)):
            if name == "many":
                requests, connections = _batches(_episodes(server, FLEETS * MANY)), FLEETS
            else:
                requests, connections = _singles(_episodes(server)), 64
            before, loaded = after, put_load(server.url, requests, connections, seconds)
            after = load_bare()
            plays[name].append((before, loaded, after))
    failed = sum(load.errors for three in plays.values() for loads in three for load in loads)
    if failed:
        raise RuntimeError(f"{failed} requests failed")

    def ratio(name: str, what: str, scale: float = 1.0) -> float:
        three = [[float(getattr(load, what)) for load in loads] for loads in plays[name]]
        return scale * statistics.median(2.0 * loaded / (a + b) for a, loaded, b in three)

    throughput, relaxed = ratio("full", "per_second"), ratio("normal", "per_second")
    many, p50 = ratio("many", "per_second", MANY), ratio("full", "p50")
    measured = [
        Measured("durable steps / bare, 64 connections", throughput, ">= 0.50", throughput >= 0.5),
        Measured("synchronous=NORMAL / bare", relaxed, ">= 0.75", relaxed >= 0.75),
        Measured("64 steps in one call / bare, steps per second", many, ">= 8", many >= 8),
        Measured("p50 / bare, 64 connections", p50, "<= 1.6", p50 <= 1.6),
    ]
    shown = {name: [loaded.per_second for _, loaded, _ in loads] for name, loads in plays.items()}
    shown["bare"] = [first.per_second for loads in plays.values() for first, _, _ in loads]
    medians = {name: statistics.median(speeds) for name, speeds in shown.items()}
    return measured, {"requests_per_second": medians}


def _while_planning(server: Server, rounds: int, seconds: float) -> Measured:
    """p99 at 16 connections while another agent plans for about two seconds, over the idle one."""
    slow = server.post("/v1/agents", SLOW_AGENT)["id"]
    _teach(server, slow)
    ratios = []
    for _ in range(rounds):
        idle = put_load(server.url, _singles(_episodes(server)), 16, seconds)
        requests = _singles(_episodes(server))
        _disturb(server, slow)  # its job runs while the load does
        busy = put_load(server.url, requests, 16, 2.0)
        _settle(server, slow)
        ratios.append(busy.p99 / idle.p99)
    value = statistics.median(ratios)
    return Measured("p99 during a plan of 2 s / idle, 16 connections", value, "<= 2", value <= 2.0)


def _teach(server: Server, agent: str) -> None:
    rng = np.random.default_rng(1)
    played = [
        {
            "states": rng.integers(500, size=200).tolist(),
            "actions": rng.integers(6, size=200).tolist(),
            "label": int(rng.random() < 0.5),
        }
        for _ in range(100)
    ]
    server.post(f"/v1/agents/{agent}/trajectories", {"trajectories": played})
    _settle(server, agent)


def _disturb(server: Server, agent: str) -> None:
    rng = np.random.default_rng()
    states, actions = rng.integers(500, size=200).tolist(), rng.integers(6, size=200).tolist()
    played = [{"states": states, "actions": actions, "label": 1}] * 10
    server.post(f"/v1/agents/{agent}/trajectories", {"trajectories": played})


def _settle(server: Server, agent: str) -> dict[str, Any]:
    while True:
        view: dict[str, Any] = server.get(f"/v1/agents/{agent}")
        if view["learning"] in ("idle", "failed"):
            return view
        time.sleep(0.05)


def _label_to_policy(server: Server) -> dict[str, float]:
    """Milliseconds from a label to the policy that knows it: FrozenLake 4x4, 1000 labels."""
    task = load_task("frozenlake-4x4")
    environment, rng = Environment(task), np.random.default_rng(5)
    body = {
        "name": "lake",
        "states": {"kind": "discrete", "n": task.states},
        "actions": {"kind": "discrete", "n": task.actions},
        "horizon": task.horizon,
        "features": task.features,
    }
    agent = server.post("/v1/agents", body)["id"]
    played = [_random_episode(environment, rng) for _ in range(1000)]
    server.post(f"/v1/agents/{agent}/trajectories", {"trajectories": played})
    _settle(server, agent)
    before = _parts(server)
    times = []
    for result in [_random_episode(environment, rng) for _ in range(40)]:
        label = result.pop("label")
        imported = server.post(f"/v1/agents/{agent}/trajectories", {"trajectories": [result]})
        _settle(server, agent)
        version = server.get(f"/v1/agents/{agent}")["policy_version"]
        began = time.perf_counter()
        server.client.put(f"/v1/episodes/{imported['first']}/label", json={"label": label})
        server.client.put(f"/v1/episodes/{imported['first']}/label", json={"label": 1 - label})
        while server.get(f"/v1/agents/{agent}")["policy_version"] == version:
            time.sleep(0.001)
        times.append(time.perf_counter() - began)
    after = _parts(server)
    parts = {
        name: 1000 * (total - before[name][0]) / max(count - before[name][1], 1)
        for name, (total, count) in after.items()
    }
    return {"median": 1000 * statistics.median(times), **{f"mean {k}": v for k, v in parts.items()}}


def _parts(server: Server) -> dict[str, tuple[float, float]]:
    """Sum and count of the time of each part of learning, from the metrics."""
    found: dict[str, dict[str, float]] = {}
    for line in server.client.get("/metrics").text.splitlines():
        for kind in ("sum", "count"):
            prefix = f'plaudit_learning_seconds_{kind}{{part="'
            if line.startswith(prefix):
                name, value = line[len(prefix) :].split('"} ')
                found.setdefault(name, {})[kind] = float(value)
    return {name: (both["sum"], both["count"]) for name, both in found.items()}


def _random_episode(environment: Environment, rng: np.random.Generator) -> dict[str, Any]:
    states, actions = [int(environment.reset(rng))], []
    while not environment.done:
        actions.append(int(rng.integers(4)))
        state, _ = environment.step(actions[-1])
        states.append(int(state))
    return {
        "states": states,
        "actions": actions,
        "terminated": environment.ended,
        "label": environment.label(),
    }


def _growth(folder: Path, seconds: float) -> tuple[Measured, dict[str, float]]:
    """Steps per second with 1e3, 1e5 and 1e6 recorded steps in the database."""
    speeds: dict[str, float] = {}
    filled = 0
    server = plaudit_server(folder, "FULL")
    agent = read_agent_id(server.post("/v1/agents", AGENT)["id"])
    for rows in (1_000, 100_000, 1_000_000):
        server.stop()
        _fill(folder / "plaudit.db", agent, filled, rows)
        filled = rows
        server = plaudit_server(folder, "FULL")
        loads = [put_load(server.url, _singles(_episodes(server)), 64, seconds) for _ in range(3)]
        speeds[f"{rows}"] = statistics.median(load.per_second for load in loads)
    server.stop()
    value = speeds["1000000"] / speeds["1000"]
    return Measured(
        "steps per second with 1e6 recorded / 1e3", value, ">= 0.8", value >= 0.8
    ), speeds


def _fill(database: Path, agent: int, filled: int, rows: int) -> None:
    """Record steps of episodes of an agent, 100 each."""
    with sqlite3.connect(database) as connection:
        for episode in range(filled // 100, rows // 100):
            connection.execute(
                "INSERT INTO episodes (agent, number, mode, status, label_required, policy_version,"
                " ended, labels_wanted, labels_given, metadata, created_at, length)"
                " VALUES (?, ?, 'learn', 'labelled', 1, 0, 0, 1, 1, '{}', 0, 100)",
                (agent, episode),
            )
            connection.executemany(
                "INSERT INTO steps (agent, episode, step, state, action) VALUES (?, ?, ?, 3, 1)",
                [(agent, episode, step) for step in range(100)],
            )


def _episodes(server: Server, count: int = EPISODES) -> list[str]:
    """New running episodes on a planned policy."""
    agent = server.post("/v1/agents", AGENT)["id"]
    path = f"/v1/agents/{agent}/episodes"
    started = [server.post(path, {"wait": i == 0})["id"] for i in range(count)]
    _settle(server, agent)  # plans for so many at once are made beside the load otherwise
    return started


def _singles(episodes: Sequence[str]) -> list[tuple[str, str]]:
    return [(f"/v1/episodes/{result}/steps", '{"state": 3}') for result in episodes]


def _batches(episodes: Sequence[str]) -> list[tuple[str, str]]:
    chunks = [episodes[i : i + MANY] for i in range(0, len(episodes), MANY)]
    return [
        ("/v1/steps", json.dumps({"steps": [{"episode": e, "state": 3} for e in chunk]}))
        for chunk in chunks
    ]


if __name__ == "__main__":
    typer.run(main)
