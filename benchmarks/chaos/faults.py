"""The faults: what is done to a running server, and how it is undone."""

from __future__ import annotations

import os
import random
import re
import resource
import signal
import socket
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.chaos.load import ADMIN_KEY

_LOG_LINE = re.compile(r"^\d{4}-\d\d-\d\dT", re.MULTILINE)
_BLOBS = (("plans", "policy"), ("knowledge", "snapshot"), ("knowledge", "insight"))


class Victim:
    """A server, and everything that can be done to it."""

    def __init__(self, server: Any, durable: Path, clock: Path, seed: int) -> None:
        self.server = server
        self.luck = random.Random(seed)
        self.tracebacks: list[str] = []
        self._durable = durable  # how much of the write-ahead log is synced
        self._clock = clock
        self._idle: list[socket.socket] = []  # of slow clients

    @property
    def faults(self) -> dict[str, Callable[[], None]]:
        """Those that the server survives, by name."""
        return {
            "learner killed": self._kill_learner,
            "server stopped for a while": lambda: self._stop(self.server.pid),
            "learner stopped for a while": self._stop_learner,
            "disk full": self._fill_disk,
            "database locked": self._lock,
            "database moved away": self._move,
            "database replaced": lambda: self._move(b""),
            "blobs corrupted": self._corrupt,
            "clock set wrong": self._set_clock,
            "slow clients": self._add_slow_clients,
        }

    @property
    def kills(self) -> dict[str, Callable[[], None]]:
        """Those that the server does not survive; it is started again."""
        return {
            "server killed": self.kill,
            "server and learner killed": self._kill_both,
            "power cut": self._cut_power,
        }

    def kill(self) -> None:
        """kill -9, and start again."""
        self._kill()
        self.server.start()

    def note_output(self) -> None:
        """Keep the tracebacks that the server has logged since its start."""
        output = self.server.output
        for part in output.split("Traceback (most recent call last)")[1:]:
            self.tracebacks.append("…" + re.split(_LOG_LINE, part)[0][-700:])

    def _kill(self) -> None:
        self.server.kill()
        self.note_output()
        self.close_slow_clients()

    def _kill_both(self) -> None:
        learners = self.server.learners
        self._kill()
        for pid in learners:
            _send(pid, signal.SIGKILL)
        self.server.start()

    def _cut_power(self) -> None:
        """kill -9, and drop the pages of the write-ahead log that were never synced."""
        self._kill()
        log = self.server.database.with_name(self.server.database.name + "-wal")
        kept = int.from_bytes(self._durable.read_bytes(), "little")
        if log.exists() and log.stat().st_size > kept:
            os.truncate(log, kept)
        self.server.start()

    def _kill_learner(self) -> None:
        for pid in self.server.learners:
            _send(pid, signal.SIGKILL)

    def _stop_learner(self) -> None:
        for pid in self.server.learners:
            self._stop(pid)

    def _stop(self, pid: int) -> None:
        if _send(pid, signal.SIGSTOP):
            time.sleep(self.luck.uniform(0.2, 1.0))
            _send(pid, signal.SIGCONT)

    def _fill_disk(self) -> None:
        """Let no file grow: every write of the server fails."""
        _, most = resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE, (0, most))
        time.sleep(self.luck.uniform(0.1, 1.0))
        resource.prlimit(self.server.pid, resource.RLIMIT_FSIZE, (most, most))

    def _lock(self) -> None:
        """Another process is in the middle of a transaction."""
        with closing(sqlite3.connect(self.server.database, isolation_level=None)) as other:
            other.execute("PRAGMA busy_timeout = 10000")
            other.execute("BEGIN IMMEDIATE")
            time.sleep(self.luck.uniform(0.1, 1.0))
            other.execute("ROLLBACK")

    def _move(self, replacement: bytes | None = None) -> None:
        database = self.server.database
        aside = database.with_name("moved-away")
        database.rename(aside)
        if replacement is not None:
            database.write_bytes(replacement)
        time.sleep(self.luck.uniform(0.1, 0.5))
        aside.rename(database)

    def _corrupt(self) -> None:
        """Flip a byte in what can be rebuilt from the log."""
        table, column = self.luck.choice(_BLOBS)
        with closing(sqlite3.connect(self.server.database, timeout=30)) as database, database:
            query = f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL"
            found = database.execute(query).fetchall()
            for row, content in self.luck.sample(found, min(3, len(found))):
                place = self.luck.randrange(len(content))
                flipped = bytes([content[place] ^ 0x55])
                bad = content[:place] + flipped + content[place + 1 :]
                update = f"UPDATE {table} SET {column} = ? WHERE rowid = ? AND {column} = ?"
                database.execute(update, (bad, row, content))

    def _set_clock(self) -> None:
        changed = self._clock.with_suffix(".new")
        changed.write_text(str(self.luck.choice((-86400, -60, 0, 60, 86400))))
        changed.rename(self._clock)

    def _add_slow_clients(self) -> None:
        for _ in range(20):
            slow = self._connect()
            slow.sendall(b"POST /v1/agents HTTP/1.1\r\nHost: x\r\nContent-Length: 10")
            self._idle.append(slow)

    def close_slow_clients(self) -> None:
        """Close what slow clients have opened."""
        for slow in self._idle:
            slow.close()
        self._idle = []

    def open_streams(self, agent: str, count: int) -> int:
        """Open event streams at the same time; how many of them answered. Then close all."""
        request = (
            f"GET /v1/agents/{agent}/events HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {ADMIN_KEY}\r\n\r\n"
        ).encode()
        streams: list[socket.socket] = []
        try:
            for _ in range(count):
                streams.append(self._connect())
                streams[-1].sendall(request)
            return sum(stream.recv(12) == b"HTTP/1.1 200" for stream in streams)
        finally:
            for stream in streams:
                stream.close()

    def _connect(self) -> socket.socket:
        address = urlsplit(self.server.url)
        return socket.create_connection((address.hostname, address.port), timeout=30)


def _send(pid: int, what: signal.Signals) -> bool:
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        return False
    return True
