"""The registry of tasks. A new task is a new file with a dictionary ``TASKS`` of factories."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

from app.errors import InvalidValue
from app.simulation.tasks.base import Task

__all__ = ["Task", "load_task", "task_names"]


@cache
def _makers() -> dict[str, Callable[[], Task]]:
    makers: dict[str, Callable[[], Task]] = {}
    for module in pkgutil.iter_modules(__path__):
        makers |= getattr(import_module(f"{__name__}.{module.name}"), "TASKS", {})
    return makers


def task_names() -> list[str]:
    """All names that ``load_task`` accepts."""
    return sorted(_makers())


@cache
def load_task(name: str) -> Task:
    """Load a task by name; cached, so that its optimum is computed once."""
    makers = _makers()
    if name not in makers:
        raise InvalidValue("task", f"one of {', '.join(task_names())}; got {name!r}")
    return makers[name]()
