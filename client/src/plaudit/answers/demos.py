"""Demos: built-in tasks that the server plays itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class DemoTaskView:
    """A built-in task."""

    name: str
    title: str
    about: str


@dataclass(frozen=True)
class DemoView:
    """A demo, and how far it is. Delete its agent to end it."""

    agent: str
    task: DemoTaskView
    judge: Literal["simulated", "people"]
    running: bool
    episodes: int
    played: int
    evaluations: int
    evaluated: int
    random_success: float
    best_success: float


@dataclass(frozen=True)
class DemoList:
    """The demos of a server, and the tasks that a new one can play."""

    tasks: list[DemoTaskView]
    items: list[DemoView]
