"""Sweeps: many tasks, agent kinds and options in one file, run on all cores, resumable.

A sweep is TOML::

    tasks = ["riverswim-6", "frozenlake-4x4"]
    seeds = 8
    episodes = 300

    [agents.thompson]              # a name, and the options of the kind
    [agents.timid]
    kind = "thompson"
    spread = 0.1

Every run is a file of its own, so that a sweep that was stopped continues where it stopped.
"""

from __future__ import annotations

import csv
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import InvalidValue
from app.simulation.experiment import Experiment
from app.simulation.runner import Run, Setting, prepare
from app.simulation.tasks import load_task

_FIELDS = {"tasks", "agents", "seeds", "first_seed", "episodes"}
COLUMNS = ("task", "agent", "seed", "episode", "value", "regret")


@dataclass(frozen=True)
class Cell:
    """One task with one agent."""

    task: str
    agent: str
    setting: Setting
    seeds: range

    def path(self, folder: Path) -> Path:
        """The file that its result is kept in."""
        return folder / f"{self.task}-{self.agent}.json"


def read_sweep(path: Path) -> list[Cell]:
    """The cells of a sweep; everything in the file is checked before anything runs."""
    try:
        sweep = tomllib.loads(path.read_text())
    except OSError as error:
        raise InvalidValue("sweep", f"a file that can be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidValue("sweep", f"TOML, {error}") from error
    unknown = sorted(set(sweep) - _FIELDS)
    if unknown:
        raise InvalidValue(unknown[0], f"one of {', '.join(sorted(_FIELDS))}")
    seeds = range(
        _whole(sweep, "first_seed", 0, 0),
        _whole(sweep, "first_seed", 0, 0) + _whole(sweep, "seeds", 8, 1),
    )
    episodes = _whole(sweep, "episodes", 300, 1)
    cells = [
        Cell(task, name, Setting(task, episodes, {"kind": name, **options}), seeds)
        for task in _filled(sweep, "tasks", list)
        for name, options in _filled(sweep, "agents", dict).items()
    ]
    for cell in cells:
        prepare(cell.setting, seeds.start)
    return cells


def _whole(sweep: dict[str, Any], name: str, default: int, least: int) -> int:
    value = sweep.get(name, default)
    if type(value) is not int or value < least:
        raise InvalidValue(name, f"a whole number from {least} on")
    return int(value)


def _filled(sweep: dict[str, Any], name: str, kind: type[Any]) -> Any:
    value = sweep.get(name)
    if not isinstance(value, kind) or not value:
        wanted = "a list of tasks" if kind is list else "tables such as [agents.thompson]"
        raise InvalidValue(name, wanted)
    if kind is dict and not all(isinstance(options, dict) for options in value.values()):
        raise InvalidValue(name, "tables such as [agents.thompson]")
    return value


def keep_result(cell: Cell, result: Experiment, folder: Path) -> None:
    """Keep the result of a cell; a crash leaves the whole file or none."""
    target = cell.path(folder)
    part = target.with_suffix(".part")
    part.write_text(json.dumps({"cell": _identity(cell), **result.summary()}))
    part.replace(target)


def kept_result(cell: Cell, folder: Path) -> Experiment | None:
    """The result that an earlier run of the same sweep kept; None if the cell has changed."""
    try:
        found = json.loads(cell.path(folder).read_text())
    except (FileNotFoundError, ValueError):
        return None
    if found.get("cell") != _identity(cell):
        return None
    runs = [
        Run(**run | {"exploit": [tuple(pair) for pair in run["exploit"]]}) for run in found["runs"]
    ]
    return Experiment(cell.setting, runs, found["optimum"], found["uniform"])


def _identity(cell: Cell) -> dict[str, Any]:
    """What makes two cells the same."""
    return {
        "task": cell.task,
        "algorithm": cell.setting.algorithm,
        "episodes": cell.setting.episodes,
        "seeds": [cell.seeds.start, cell.seeds.stop],
    }


def write_rows(results: list[tuple[Cell, Experiment]], path: Path) -> int:
    """Write one row an episode as CSV. Return how many."""
    rows = 0
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for cell, result in results:
            best = load_task(cell.task).optimum()
            for run in result.runs:
                regret = 0.0
                for episode, value in enumerate(run.values):
                    regret += best - value
                    fields = (
                        cell.task,
                        cell.agent,
                        run.seed,
                        episode,
                        f"{value:.6g}",
                        f"{regret:.6g}",
                    )
                    writer.writerow(fields)
                    rows += 1
    return rows
