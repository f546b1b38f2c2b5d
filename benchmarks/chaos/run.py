"""One run: load, faults, checks, and a report."""

from __future__ import annotations

import socket
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.chaos.checks import (
    files_of,
    find_broken_rules,
    find_different_models,
    memory_of,
)
from benchmarks.chaos.faults import Victim
from benchmarks.chaos.load import (
    ADMIN_KEY,
    Correcting,
    Deleting,
    Importing,
    Keeping,
    Load,
    Member,
    Playing,
    Racing,
    Viewing,
)
from tests.support.running import RunningServer, create_agent, wait_learned, wait_until

_PLAYERS = 4
_READY_SECONDS = 60.0
_MORE_FILES, _MORE_MEMORY = 30, 60_000_000  # beside what growing data may take
_MEMORY_RATIO = 1.3


class NotReady(Exception):
    """A server that does not become ready again."""


@dataclass
class Report:
    """What was done, and what went wrong."""

    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    refused: int = 0
    models: int = 0
    memory: tuple[int, int] = (0, 0)  # bytes before and after the faults that leave it running
    files: tuple[int, int] = (0, 0)
    streams: int = 0
    failures: list[str] = field(default_factory=list)


class Chaos:
    """A server in a folder of its own, under load."""

    def __init__(self, folder: Path, seed: int, streams: int, **changes: Any) -> None:
        self._folder, self._streams = folder, streams
        durable, clock = folder / "durable", folder / "clock"
        clock.write_text("0")
        # Always the same port: clients go on after a restart.
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        settings = {
            "PLAUDIT_PORT": port,
            "PLAUDIT_ADMIN_KEY": ADMIN_KEY,
            "PLAUDIT_IDLE_SECONDS": 5,
            "PLAUDIT_HEADER_SECONDS": 5,
            "PLAUDIT_CONNECTIONS": streams + 2000,
            "PLAUDIT_CONNECTIONS_PER_ADDRESS": streams + 1000,
        }
        changes = {"clock": clock, "power": durable} | changes
        self.server = RunningServer(folder, **(settings | changes))
        self.victim = Victim(self.server, durable, clock, seed)
        self.report = Report()

    def run(self, seconds: float) -> Report:
        """Faults that the server survives, then kills for most of the time; then the checks."""
        began = time.monotonic()
        self.server.start()
        with self._client() as client:
            agents = [create_agent(client, name=name) for name in ("one", "two")]
        load, players = self._load(agents)
        load.start()
        try:
            self._open_streams(agents[0])  # first, so that buffers have grown before they count
            self._survive(load, time.monotonic() + seconds / 4)
            self._die(load, time.monotonic() + 3 * seconds / 4)
            self._open_streams(agents[0])
            load.pause()
            self.report.failures += load.lost(everything=True)
            with self._client() as client:
                for agent in agents:
                    view = wait_learned(client, agent)
                    if view["learning"] == "failed":
                        self.report.failures.append(f"learning failed: {view['learning_error']}")
        except NotReady as error:
            self.report.failures.append(str(error))
        finally:
            load.stop()
            self.victim.close_slow_clients()
            code = self.server.stop()
        self.victim.note_output()
        self._check_afterwards(load, players, code)
        self.report.seconds = time.monotonic() - began
        return self.report

    def _load(self, agents: list[str]) -> tuple[Load, list[Playing]]:
        players = [Playing(agents[seed % 2], seed) for seed in range(_PLAYERS)]
        others: list[Member] = [
            Correcting(players, 11),
            Racing(agents[1]),
            Importing(agents[0], 12),
            Deleting(),
            Keeping(),
            Viewing(agents, 13),
        ]
        return Load([*players, *others], self._client), players

    def _survive(self, load: Load, until: float) -> None:
        """Faults that leave the server running. Its memory and open files must stay flat."""
        before: tuple[int, int] | None = None
        now = 0, 0
        while before is None or time.monotonic() < until:
            for name, act in self._shuffled(self.victim.faults):
                act()
                self.report.faults[name] += 1
            self.victim.close_slow_clients()
            load.pause()
            self._await_ready()
            self.report.failures += load.lost(everything=False)
            now = memory_of(self.server.pid), files_of(self.server.pid)
            before = before or now
            load.resume()
        self.report.memory, self.report.files = (before[0], now[0]), (before[1], now[1])
        if now[1] > before[1] + _MORE_FILES:
            self.report.failures.append(f"open files grew from {before[1]} to {now[1]}")
        if now[0] > _MEMORY_RATIO * before[0] + _MORE_MEMORY:
            self.report.failures.append(f"memory grew from {before[0]} to {now[0]} bytes")

    def _die(self, load: Load, until: float) -> None:
        """kill -9 again and again; after each start everything new must be there."""
        while time.monotonic() < until and not self.report.failures:
            for name, act in self._shuffled(self.victim.kills):
                enough = load.turns + self.victim.luck.randint(5, 150)
                wait_until(lambda enough=enough: load.turns >= enough, pause=0.001)
                time.sleep(self.victim.luck.uniform(0.0, 0.02))
                act()
                self.report.faults[name] += 1
                load.pause()
                self.report.failures += load.lost(everything=False)
                load.resume()

    def _check_afterwards(self, load: Load, players: list[Playing], code: int | None) -> None:
        report = self.report
        report.failures += [f"{what} ({n} times)" for what, n in load.violations.most_common(5)]
        report.failures += self.victim.tracebacks[:3]
        if code != 0:
            report.failures.append(f"the server ended with exit code {code}")
        report.failures += find_broken_rules(self.server.database)
        report.models, wrong = find_different_models(
            self.server.database, self._folder / "rebuilt.db"
        )
        report.failures += wrong
        report.acknowledged = load.turns
        report.refused = sum(one.player.refused for one in players)

    def _open_streams(self, agent: str) -> None:
        if self._streams:
            answered = self.victim.open_streams(agent, self._streams)
            self.report.faults["streams opened at once"] += 1
            self.report.streams = answered
            if answered < self._streams:
                self.report.failures.append(f"{answered} of {self._streams} streams answered")

    def _shuffled(self, acts: dict[str, Any]) -> list[tuple[str, Any]]:
        return self.victim.luck.sample(list(acts.items()), len(acts))

    def _await_ready(self) -> None:
        deadline, health = time.monotonic() + _READY_SECONDS, {}
        with self._client() as client:
            while time.monotonic() < deadline:
                health = client.get("/readyz").json()
                if health["status"] == "ok":
                    return
                time.sleep(0.1)
        raise NotReady(f"the server is not ready after a minute: {health}")

    def _client(self) -> httpx.Client:
        client: httpx.Client = self.server.client(ADMIN_KEY)
        return client


def run_chaos(seconds: float, seed: int = 1, streams: int = 2000, **changes: Any) -> Report:
    """Run in a temporary folder. ``changes`` plant a fault in the started server."""
    with tempfile.TemporaryDirectory() as folder:
        return Chaos(Path(folder), seed, streams, **changes).run(seconds)
