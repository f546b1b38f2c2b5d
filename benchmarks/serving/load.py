"""Load for the serving benchmark: wrk where it is installed, else a bounded client of our own."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

_SCRIPT = """
local requests = {{}}
local headers = {{["Content-Type"] = "application/json", ["Host"] = "{host}"}}
for line in io.lines("{requests}") do
  local path, body = line:match("^(%S+) (.*)$")
  requests[#requests + 1] = wrk.format("POST", path, headers, body)
end
local n = 0
request = function() n = n + 1; return requests[(n - 1) % #requests + 1] end
done = function(summary, latency, _)
  print(string.format("RESULT %d %d %d %f %f", summary.requests, summary.errors.status,
    summary.duration, latency:percentile(50), latency:percentile(99)))
end
"""


@dataclass(frozen=True)
class Load:
    """What one run of load saw."""

    requests: int
    errors: int
    per_second: float
    p50: float  # milliseconds
    p99: float


def put_load(
    url: str, requests: Sequence[tuple[str, str]], connections: int, seconds: float
) -> Load:
    """Send (path, body) POSTs over and over, in order, on so many connections."""
    if shutil.which("wrk"):
        return _wrk(url, requests, connections, seconds)
    return _own(url, requests, connections, seconds)


def tool() -> str:
    """What makes the load."""
    return "wrk" if shutil.which("wrk") else "own client"


def _wrk(url: str, requests: Sequence[tuple[str, str]], connections: int, seconds: float) -> Load:
    with tempfile.TemporaryDirectory() as folder:
        lines, script = Path(folder) / "requests.txt", Path(folder) / "load.lua"
        lines.write_text("".join(f"{path} {body}\n" for path, body in requests))
        script.write_text(_SCRIPT.format(requests=lines, host=urlsplit(url).netloc))
        command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s"]
        done = subprocess.run(
            [*command, "--timeout", "30s", "-s", str(script), url],
            capture_output=True,
            text=True,
            check=True,
        )
    found = re.search(r"RESULT (\d+) (\d+) (\d+) ([\d.]+) ([\d.]+)", done.stdout)
    if found is None:
        raise RuntimeError(done.stdout + done.stderr)
    count, errors, micros = int(found[1]), int(found[2]), int(found[3])
    return Load(
        count, errors, count / (micros / 1e6), float(found[4]) / 1000, float(found[5]) / 1000
    )


def _own(url: str, requests: Sequence[tuple[str, str]], connections: int, seconds: float) -> Load:
    """The same in a process of its own, so that it does not share a lock with anything."""
    job = json.dumps([url, list(requests), connections, seconds])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.serving.load"],
        input=job,
        capture_output=True,
        text=True,
        check=True,
    )
    return Load(**json.loads(done.stdout))


async def _clients(
    url: str, requests: list[tuple[str, str]], connections: int, seconds: float
) -> Load:
    target = urlsplit(url)
    assert target.hostname is not None
    messages = [
        f"POST {path} HTTP/1.1\r\nHost: {target.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        for path, body in requests
    ]
    latencies: list[float] = []
    errors = taken = 0
    deadline = time.perf_counter() + seconds

    async def one() -> None:
        nonlocal errors, taken
        reader, writer = await asyncio.open_connection(target.hostname, target.port)
        while time.perf_counter() < deadline:
            message = messages[taken % len(messages)]
            taken += 1
            began = time.perf_counter()
            writer.write(message)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            await reader.readexactly(int(length[1]) if length else 0)
            latencies.append(time.perf_counter() - began)
            errors += not head.startswith(b"HTTP/1.1 2")
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(connections)))
    elapsed = time.perf_counter() - began
    latencies.sort()
    p50, p99 = (latencies[int(share * (len(latencies) - 1))] * 1000 for share in (0.5, 0.99))
    return Load(len(latencies), errors, len(latencies) / elapsed, p50, p99)


if __name__ == "__main__":
    print(json.dumps(vars(asyncio.run(_clients(*json.load(sys.stdin))))))
