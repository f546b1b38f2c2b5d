"""Demos: built-in tasks that the server plays itself."""

from __future__ import annotations

from typing import Literal

from plaudit._core.flow import Flow, Request, json_request
from plaudit._core.parsing import parse
from plaudit.answers.demos import DemoList, DemoView
from plaudit.endpoints.body import given, idempotent, path


def start_demo(
    task: str,
    *,
    judge: Literal["simulated", "people"] = "simulated",
    episodes: int | None = None,
    evaluations: int = 50,
    seed: int = 0,
) -> Flow[DemoView]:
    """Create an agent on the server, which plays a built-in task with it."""
    body = given(task=task, judge=judge, episodes=episodes, evaluations=evaluations, seed=seed)
    reply = yield json_request("POST", path("demos"), body, idempotent(None))
    return parse(DemoView, reply.json())


def list_demos() -> Flow[DemoList]:
    """The built-in tasks, and the demos since the server started."""
    reply = yield Request("GET", path("demos"))
    return parse(DemoList, reply.json())
