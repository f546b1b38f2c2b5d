"""The tasks, by name. A new task is one new file with a dictionary ``TASKS`` of its makers."""

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
    """Every name that ``load_task`` takes."""
    return sorted(_makers())


@cache
def load_task(name: str) -> Task:
    """The task of a name; the same object every time, so that its optimum is worked out once."""
    makers = _makers()
    if name not in makers:
        raise InvalidValue("task", f"one of {', '.join(task_names())}; got {name!r}")
    return makers[name]()
