"""The learning curve of a simulation, as a picture and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from app.errors import InvalidValue
from app.learning.arrays import Floats
from app.simulation.extras import load_extra

BAND = (0.1, 0.9)  # quantiles over the seeds
CHECKPOINTS = (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 2000, 3000, 5000)
# The palette of Okabe and Ito: clear to colour-blind readers and in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BAR = 20


@dataclass(frozen=True)
class Curve:
    """The success probability of one agent over episodes, for several seeds."""

    label: str
    episodes: NDArray[np.int64]  # (points,): labels learned from, growing
    success: Floats  # (seeds, points): success probability of the policy then

    def __post_init__(self) -> None:
        points = len(self.episodes)
        if points < 1 or self.success.ndim != 2 or self.success.shape[1] != points:
            raise InvalidValue("success", f"one row per seed with {points} points")
        if (np.diff(self.episodes) <= 0).any():
            raise InvalidValue("episodes", "growing numbers")

    @property
    def mean(self) -> Floats:
        """The mean over the seeds, shape (points,)."""
        average: Floats = self.success.mean(axis=0)
        return average

    @property
    def band(self) -> Floats:
        """The lower and upper quantile over the seeds, shape (2, points)."""
        quantiles: Floats = np.quantile(self.success, BAND, axis=0)
        return quantiles


@dataclass(frozen=True)
class Levels:
    """Reference levels of a curve: the best possible and the random success."""

    optimum: float
    uniform: float


def draw_curves(path: Path, title: str, curves: list[Curve], levels: Levels) -> None:
    """Draw one or more curves to a file; ``path`` ends in .png (or .svg, .pdf)."""
    # Agg draws without a display; the pyplot state machine, which would keep figures, is not used.
    figure = load_extra("matplotlib.figure").Figure(figsize=(8, 4.5), layout="constrained")
    load_extra("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for curve, colour in zip(curves, _colours(len(curves)), strict=True):
        _draw_curve(axes, curve, colour)
    _draw_level(axes, levels.optimum, "best possible", "--")
    _draw_level(axes, levels.uniform, "uniform random", ":")
    first = min(curve.episodes[0] for curve in curves)
    last = max(curve.episodes[-1] for curve in curves)
    axes.set(xlabel="labelled episodes", ylabel="probability of success")
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_xlim(first, last if last > first else first + 1)
    axes.set_ylim(0.0, 1.05)
    axes.grid(axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _draw_curve(axes: Any, curve: Curve, colour: str) -> None:
    seeds = len(curve.success)
    if seeds > 1:
        low, high = curve.band
        axes.fill_between(curve.episodes, low, high, color=colour, alpha=0.18, linewidth=0)
    name = curve.label if seeds == 1 else f"{curve.label}\nmean of {seeds} seeds, 10-90 %"
    axes.plot(curve.episodes, curve.mean, color=colour, linewidth=2, label=name)


def _draw_level(axes: Any, height: float, name: str, style: str) -> None:
    axes.axhline(
        height, color="0.35", linestyle=style, linewidth=1.2, label=f"{name} ({height:.3g})"
    )


def _colours(count: int) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(count)]


def curve_table(title: str, curve: Curve, levels: Levels) -> Table:
    """Some rows of the curve for a terminal, with a bar relative to the optimum."""
    table = Table(
        title=title, title_justify="left", caption_justify="left", box=None, pad_edge=False
    )
    table.caption = f"best possible {levels.optimum:.3f}, uniform random {levels.uniform:.3f}"
    table.add_column("episodes", justify="right")
    table.add_column("success", justify="right")
    if len(curve.success) > 1:
        table.add_column("10-90 %", justify="right")
    table.add_column(f"0 {'of the best'.center(BAR - 4)} 1")
    low, high = curve.band
    for index in _rows(curve.episodes):
        mean = float(curve.mean[index])
        cells = [str(curve.episodes[index]), f"{mean:.3f}"]
        if len(curve.success) > 1:
            cells.append(f"{low[index]:.2f}-{high[index]:.2f}")
        table.add_row(*cells, _bar(mean / levels.optimum if levels.optimum > 0 else 0.0))
    return table


def _rows(episodes: NDArray[np.int64]) -> list[int]:
    """The first point after each checkpoint, and the last point."""
    found = np.searchsorted(episodes, [c for c in CHECKPOINTS if c <= episodes[-1]])
    return sorted({*found.tolist(), len(episodes) - 1})


def _bar(share: float) -> str:
    full = round(BAR * min(max(share, 0.0), 1.0))
    return "█" * full + "░" * (BAR - full)
