"""The drawing of the paper's figure, and the table of its numbers, from the record of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.simulation.curve import COLOURS
from app.simulation.extras import load_extra
from app.simulation.tasks.grid import COLUMNS, ROWS
from benchmarks.goal_grid import GoalGrid
from benchmarks.records import Columns, where

Record = dict[str, Any]

PATHS = ("#7B3FA0", "#E8B800")  # purple and yellow, as in the paper
NAMES = {
    "working": "working: 2 x 64 tanh, step 0.002",
    "slow": "the same, step 0.001",
    "hints": "2 x 64 ReLU, step 0.002,\nsees the way to a near goal",
    "literal": "literal: 10 x 4 ReLU",
}
TITLES = {
    "working": "working (the defaults)",
    "slow": '`"step_size": 0.001`',
    "hints": '`"activation": "relu"`, and the difference to the goal, at most 3 each way, is seen',
    "literal": '`"configuration": "literal"`',
}
CHECKPOINTS = (300, 600, 1000, 2000)


def draw(path: Path, record: Columns, paths: Record, steps: int) -> None:
    """Learning curve, untrained paths, trained paths; a row for each configuration."""
    figure = load_extra("matplotlib.figure").Figure(figsize=(13, 7.4), layout="constrained")
    load_extra("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    axes = figure.subplots(2, 3, width_ratios=(1.15, 1, 1))
    rows = (("working", ("working", "slow", "hints")), ("literal", ("literal",)))
    for row, (name, curves) in zip(axes, rows, strict=True):
        for curve in curves:
            _curve(row[0], curve, record, COLOURS[list(NAMES).index(curve)])
        _frame(row[0], name, steps)
        for panel, moment in zip(row[1:], ("untrained", "trained"), strict=True):
            _grid(panel, f"{name}, {moment}")
            if name in paths:
                _episodes(panel, paths[name][moment])
    figure.savefig(path, dpi=130)


def table(record: Columns) -> str:
    """Mean and standard deviation over the runs at a few gradient steps, in Markdown."""
    lines = [
        "| settings | runs | " + " | ".join(f"{step} steps" for step in CHECKPOINTS) + " |",
        "|---" * (2 + len(CHECKPOINTS)) + "|",
    ]
    for name, title in TITLES.items():
        steps, success = _successes(record, name)
        cells = [_cell(success[:, steps == step]) for step in CHECKPOINTS] if len(success) else []
        if cells:
            lines.append(f"| {title} | {len(success)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(values: NDArray[np.float64]) -> str:
    """The runs at one step (runs, 1), if they went as far."""
    if not values.size:
        return ""
    spread = values.std(ddof=1) if len(values) > 1 else 0.0
    return f"{values.mean():.4f} ± {spread:.4f}"


def _successes(record: Columns, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The gradient steps (points,) and the success of every run there (runs, points)."""
    rows = where(record, name=name) if record else {"seed": np.zeros(0)}
    runs = len(np.unique(rows["seed"]))
    if not runs:
        return np.zeros(0, dtype=np.int64), np.zeros((0, 0))
    steps = rows["step"].reshape(runs, -1)[0]
    return steps.astype(np.int64), rows["value"].reshape(runs, -1)


def _curve(axes: Any, name: str, record: Columns, colour: str) -> None:
    steps, success = _successes(record, name)
    if not len(success):
        return
    mean, spread = success.mean(axis=0), success.std(axis=0)
    axes.fill_between(steps, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0)
    label = f"{NAMES[name]}\n{mean[-1]:.4f} at {steps[-1]}, {len(success)} runs"
    axes.plot(steps, mean, color=colour, linewidth=2, label=label)


def _frame(axes: Any, name: str, steps: int) -> None:
    level = GoalGrid().uniform()
    name_of_level = f"uniform random {level:.4f}"
    axes.axhline(level, color="0.35", linestyle=":", linewidth=1.2, label=name_of_level)
    axes.set(xlabel="gradient steps of 30 episodes", ylabel="probability of success")
    axes.set_title(f"{name}: mean ± standard deviation", loc="left", fontweight="bold")
    axes.set_xlim(0, steps)
    axes.set_ylim(0.0, 1.05)
    axes.grid(axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right" if name == "working" else "upper right")


def _grid(axes: Any, title: str) -> None:
    rows, columns = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    axes.scatter(columns, rows, s=8, color="0.8", zorder=1)
    axes.set(aspect="equal", xlim=(-0.7, COLUMNS - 0.3), ylim=(ROWS - 0.3, -0.7))
    axes.set_title(title, loc="left", fontweight="bold")
    axes.axis("off")


def _episodes(axes: Any, episodes: list[Record]) -> None:
    """Two paths, each from its start (blue) to its goal (black) with its neighbours (red)."""
    for shift, colour, episode in zip((-0.09, 0.09), PATHS, episodes, strict=True):
        rows, columns = np.divmod(np.array(episode["path"]), COLUMNS)
        verdict = "good" if episode["label"] else "bad"
        axes.plot(
            columns + shift, rows + shift, color=colour, linewidth=2.5, zorder=2, label=verdict
        )
        axes.scatter(columns[0], rows[0], s=130, color="#1F5FBF", zorder=3)
        axes.scatter(columns[-1], rows[-1], s=45, color=colour, edgecolor="k", zorder=5)
        row, column = divmod(episode["goal"], COLUMNS)
        beside = [(row, column - 1), (row, column + 1), (row - 1, column), (row + 1, column)]
        near = [(r, c) for r, c in beside if 0 <= r < ROWS and 0 <= c < COLUMNS]
        axes.scatter([c for _, c in near], [r for r, _ in near], s=45, color="#D62728", zorder=4)
        axes.scatter(column, row, s=70, color="black", zorder=4)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2)
