"""Steps on PostgreSQL beside SQLite and a bare endpoint, in one interleaved run.

    python -m benchmarks.scale --database-url postgresql+psycopg://postgres@127.0.0.1/empty
    python -m benchmarks.scale --database-url … --json

The database must be empty, and its server must run on this machine: the CPU time of its processes
is read from /proc.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from sqlalchemy import make_url

from benchmarks.serving.__main__ import _episodes, _singles
from benchmarks.serving.load import Load, put_load
from benchmarks.serving.servers import Server, bare_server, plaudit_server

CONNECTIONS = 64
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")


def main(
    database_url: Annotated[str, typer.Option(help="An empty PostgreSQL database.")],
    as_json: Annotated[bool, typer.Option("--json")] = False,
    rounds: int = 5,
    seconds: float = 3.0,
) -> None:
    """Measure one server on each database."""
    with tempfile.TemporaryDirectory() as folder:
        measured = _measure(Path(folder), database_url, rounds, seconds)
    if as_json:
        print(json.dumps(measured, indent=1))
        return
    for name, value in measured.items():
        print(f"{name:<58} {value:8.2f}")


def _measure(folder: Path, url: str, rounds: int, seconds: float) -> dict[str, float]:
    bare = bare_server()
    servers = {
        "SQLite": plaudit_server(folder / "sqlite", "FULL"),
        "PostgreSQL": plaudit_server(
            folder / "postgres",
            "FULL",
            PLAUDIT_DATABASE_URL=url,
            PLAUDIT_RECORDINGS_FOLDER=str(folder / "recordings"),
        ),
    }
    try:
        return _compare(bare, servers, lambda: _database_cpu(url), rounds, seconds)
    finally:
        for server in (bare, *servers.values()):
            server.stop()


def _compare(
    bare: Server,
    servers: dict[str, Server],
    database_cpu: Callable[[], float],
    rounds: int,
    seconds: float,
) -> dict[str, float]:
    """Each load is held against the bare endpoint before and after it; medians over rounds."""

    def load_bare() -> Load:
        return put_load(bare.url, _singles(["eps_0123456789_0"]), CONNECTIONS, seconds)

    ratios: dict[str, list[float]] = {name: [] for name in servers}
    costs: dict[str, list[float]] = {f"{name}, API": [] for name in servers}
    costs["PostgreSQL"] = []
    after = load_bare()
    for _ in range(rounds):
        for name, server in servers.items():
            requests = _singles(_episodes(server))
            before, began = after, (_cpu(server.process.pid), database_cpu())
            load = put_load(server.url, requests, CONNECTIONS, seconds)
            ended = _cpu(server.process.pid), database_cpu()
            after = load_bare()
            if load.errors:
                raise RuntimeError(f"{load.errors} requests failed")
            ratios[name].append(2 * load.per_second / (before.per_second + after.per_second))
            steps = load.per_second * seconds
            costs[f"{name}, API"].append(1e6 * (ended[0] - began[0]) / steps)
            if name == "PostgreSQL":
                costs[name].append(1e6 * (ended[1] - began[1]) / steps)
    shown = {
        f"durable steps / bare: {name}": statistics.median(all_) for name, all_ in ratios.items()
    }
    shown["PostgreSQL / SQLite"] = statistics.median(
        one / other for one, other in zip(ratios["PostgreSQL"], ratios["SQLite"], strict=True)
    )
    return shown | {
        f"CPU microseconds a step: {name}": statistics.median(all_) for name, all_ in costs.items()
    }


def _database_cpu(url: str) -> float:
    """CPU seconds of the processes that serve the connections of Plaudit."""
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'plaudit'"
        return sum(_cpu(pid) for (pid,) in connection.execute(query).fetchall())


def _cpu(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return _TICK * (int(fields[11]) + int(fields[12]))


if __name__ == "__main__":
    typer.run(main)
