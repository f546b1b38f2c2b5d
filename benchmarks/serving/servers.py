"""The servers that the serving benchmark compares, each in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from app.wire.steps import Step, StepAnswer

START_SECONDS = 180.0


class Server:
    """A process that serves on a free port."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command],
            env={**os.environ, **environment, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.url = self._listening()
        self.client = httpx.Client(base_url=self.url, timeout=300.0)

    def _listening(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = re.search(r"listens on (http://\S+)", line)
            if found:
                return found[1]
        raise RuntimeError("a server did not start")

    def post(self, path: str, body: Any) -> Any:
        """The answer to a POST that must succeed."""
        answer = self.client.post(path, json=body)
        answer.raise_for_status()
        return answer.json()

    def get(self, path: str) -> Any:
        """The answer to a GET that must succeed."""
        answer = self.client.get(path)
        answer.raise_for_status()
        return answer.json()

    def stop(self) -> None:
        """End it."""
        self.client.close()
        self.process.terminate()
        self.process.wait(60)


def bare_server() -> Server:
    """A FastAPI endpoint with the same models that does nothing: the limit to compare with."""
    return Server(["benchmarks.serving.servers"], {})


def plaudit_server(folder: Path, synchronous: str, **settings: str) -> Server:
    """The product on a database in ``folder``, with its learning processes ready."""
    folder.mkdir(parents=True, exist_ok=True)
    server = Server(
        ["app.cli", "serve"],
        {
            "PLAUDIT_DATABASE_URL": f"sqlite:///{folder / 'plaudit.db'}",
            "PLAUDIT_SYNCHRONOUS": synchronous,
            "PLAUDIT_PORT": "0",
            "PLAUDIT_LEARNING_PROCESSES": "1",
            "PLAUDIT_MOST_PLANS": "1",
            "PLAUDIT_LOG_LEVEL": "warning",
            **settings,
        },
    )
    deadline = time.monotonic() + START_SECONDS
    while server.client.get("/readyz").status_code != 200:
        if time.monotonic() > deadline:
            raise RuntimeError("the learning process did not start")
        time.sleep(0.2)
    return server


def _bare() -> None:
    app = FastAPI()

    @app.post("/v1/episodes/{episode}/steps")
    async def step(episode: str, body: Step) -> StepAnswer:  # noqa: ARG001 - as the product's
        return StepAnswer(step=body.step or 0, action=1, last=False)

    config = uvicorn.Config(app, port=0, access_log=False, log_level="warning")

    class Greeting(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            port = self.servers[0].sockets[0].getsockname()[1]
            print(f"listens on http://127.0.0.1:{port}", flush=True)

    Greeting(config).run()


if __name__ == "__main__":
    _bare()
