"""The figures of the paper's theory, drawn from the records of `benchmarks.paper`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from app.learning.arrays import Floats
from app.learning.paper.regret_bounds import (
    exploration_episodes,
    exploration_regret,
    optimism_regret,
)
from app.simulation.extras import load_extra
from benchmarks.paper import algorithm_3
from benchmarks.paper.coverage import DELTAS, EPISODES, interval, largest
from benchmarks.paper.regret import CONTENDERS, WORLDS, Known
from benchmarks.records import Columns, known, read, where

STYLES = {  # Okabe and Ito's colours; the paper's constants are dashed
    "uniform": ("0.35", "-"),
    "thompson": ("#0072B2", "-"),
    "ucbvi": ("#D55E00", "-"),
    "exact": ("#009E73", "-"),
    "explore": ("#CC79A7", "-"),
    "ucbvi paper": ("#D55E00", "--"),
    "exact paper": ("#009E73", ":"),
}
COVERAGE_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00")
FEWEST = 3e-4  # the bottom of a logarithmic axis of shares
FARTHEST = 1e44  # episodes of the panel of bounds
FLOOR = 1e-8  # smaller losses are drawn here
POINTS = 60  # of a curve
EXPERIMENT = Path(__file__).parents[2] / Path("docs/figures/paper_experiment.csv.gz")
UNIFORM = 0.0094  # success of random moves there
_ABOVE = {"textcoords": "offset points", "ha": "center", "fontsize": 9}


def draw_regret(path: Path, record: Columns) -> None:
    """Measured regret with slopes to hold it against, and the theorems' bounds."""
    figure, axes = _figure((12.5, 13.5), 3, 2)
    for row, (world, make) in zip(axes, WORLDS.items(), strict=False):
        _measured(row[0], world, record)
        _bounds(row[1], world, make(), record)
    _experiment(axes[2][0])
    axes[2][1].axis("off")  # no theorem speaks of policy gradients
    figure.savefig(path, dpi=110)


def _experiment(axes: Any) -> None:
    """The regret of `reinforce` on the paper's grid, from the record of that experiment."""
    record, last = read(EXPERIMENT), 1.0
    for name, label, colour in (
        ("working", "reinforce", "#0072B2"),
        ("literal", "reinforce, the paper's literal text", "#CC79A7"),
    ):
        rows = where(record, name=name)
        regret = rows["regret"].reshape(len(np.unique(rows["seed"])), -1)[:, 1:]
        at = rows["episode"][1 : regret.shape[1] + 1]
        low, high = np.quantile(regret, (0.1, 0.9), axis=0)
        axes.fill_between(at, low, high, color=colour, alpha=0.1, linewidth=0)
        axes.plot(at, regret.mean(axis=0), color=colour, linewidth=2, label=label)
        last = max(last, float(at[-1]))
    everywhere = np.array([1.0, last])
    axes.plot(everywhere, (1.0 - UNIFORM) * everywhere, color="0.35", linewidth=2, label="uniform")
    _slopes(axes, int(last))
    _frame(axes, "the paper's grid: measured", "episodes N", "regret")
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")


def _measured(axes: Any, world: str, record: Columns) -> None:
    last = 1
    for name, contender in CONTENDERS.items():
        at, regret = regrets(record, world=world, name=name)
        if not len(regret):
            continue
        colour, style = STYLES[name]
        low, high = np.quantile(regret, (0.1, 0.9), axis=0)
        axes.fill_between(at, low, high, color=colour, alpha=0.07, linewidth=0)
        mean, last = regret.mean(axis=0), int(at[-1])
        axes.plot(at, mean, color=colour, linestyle=style, linewidth=2, label=contender.label)
    _slopes(axes, last)
    _frame(axes, f"{world}: measured", "episodes N", "regret")
    axes.set_xlim(1, last * 1.0)
    axes.set_ylim(0.1, None)
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")


def _slopes(axes: Any, last: int) -> None:
    """Lines of the rates that the theorems speak of, through one episode lost at first."""
    episodes = np.array([1.0, last])
    for power, name in ((0.5, "$N^{1/2}$"), (2 / 3, "$N^{2/3}$")):
        line = episodes**power
        axes.plot(episodes, line, color="0.2", linestyle=(0, (1, 1)), linewidth=1.2)
        place = (-4, 3 if power > 0.6 else -14)
        axes.annotate(name, (last, line[1]), place, textcoords="offset points", ha="right")


def _bounds(axes: Any, world: str, known: Known, record: Columns) -> None:
    """The bounds as far as it takes until they say something, and the best that was measured."""
    episodes = np.geomspace(10, FARTHEST, 200)
    setting = known.theory
    first = [optimism_regret(setting, float(n)) for n in episodes]
    crossing = says_something(known)
    label = f"bound of Algorithm 1, below N from {crossing[0]:.0e}"
    axes.plot(episodes, first, color="#009E73", linewidth=2, label=label)
    if known.omega is not None and crossing[1] is not None:
        # Before exploration can be over the theorem is silent, and regret is at most N.
        free = [n for n in episodes if n > 2.0 * exploration_episodes(setting, n, known.omega)]
        second = [exploration_regret(setting, float(n), known.omega) for n in free]
        label = f"bound of Algorithm 3, below N from {crossing[1]:.0e}"
        axes.plot(free, second, color="#CC79A7", linewidth=2, label=label)
    axes.plot(episodes, episodes, color="0.35", linestyle="--", linewidth=1.2, label="N, trivial")
    for name in ("exact paper", "explore"):
        at, regret = regrets(record, world=world, name=name)
        if len(regret):
            label = f"{CONTENDERS[name].label}, measured"
            axes.plot(at, regret.mean(axis=0), color=STYLES[name][0], linewidth=4, label=label)
    _frame(axes, f"{world}: what the theorems say", "episodes N", "regret")
    axes.set_xlim(1, FARTHEST)
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")


def regrets(record: Columns, **chosen: Any) -> tuple[Floats, Floats]:
    """The episodes (points,) and the regret of every run after them (runs, points).

    The points are evenly spread on a logarithmic axis.
    """
    rows = where(record, **chosen)
    runs = len(np.unique(rows["seed"]))
    if not runs:
        return np.zeros(0), np.zeros((0, 0))
    whole = rows["regret"].reshape(runs, -1)
    at = np.unique(np.geomspace(1, whole.shape[1], POINTS).round().astype(int))
    return at.astype(np.float64), whole[:, at - 1]


def says_something(known: Known) -> tuple[float, float | None]:
    """From which N on the bounds of Algorithms 1 and 3 are below N itself; to one digit."""
    grid = [digit * 10.0**power for power in range(1, 60) for digit in range(1, 10)]
    setting, omega = known.theory, known.omega
    first = next(n for n in grid if optimism_regret(setting, n) < n)
    if omega is None:
        return first, None
    free = (n for n in grid if n > 2.0 * exploration_episodes(setting, n, omega))
    return first, next(n for n in free if exploration_regret(setting, n, omega) < n)


def draw_algorithm_3(path: Path, record: Columns) -> None:
    """The regret of every run beside N, and the optimism that it rests on."""
    worlds = list(algorithm_3.EPISODES)
    figure, axes = _figure((12.5, 4.6 * len(worlds)), len(worlds), 2)
    for row, world in zip(axes, worlds, strict=True):
        runs = where(record, world=world)
        for (seed,) in sorted(known(runs, "seed")):
            _run_of_algorithm_3(row, where(runs, seed=seed), int(seed))
        last = runs["episode"].max()
        row[0].plot([1, last], [1, last], color="0.35", linestyle="--", label="N, trivial")
        row[0].set(xlabel="episodes N", ylabel="regret", xscale="log", yscale="log")
        row[0].set_title(f"{world}: regret of whole runs", loc="left", fontweight="bold")
        row[1].set(xlabel="episode t", ylabel="value", xscale="log")
        row[1].set_title(f"{world}: what the plan hopes for", loc="left", fontweight="bold")
        for one in row:
            one.grid(alpha=0.2)
            one.spines[["top", "right"]].set_visible(False)
            one.legend(frameon=False, fontsize=8.5)
    figure.savefig(path, dpi=110)


def _run_of_algorithm_3(row: Any, run: Columns, seed: int) -> None:
    colour, first = COVERAGE_COLOURS[seed % len(COVERAGE_COLOURS)], seed % 10 == 0
    explored = int((run["phase"] != "optimism").sum())
    at = np.unique(np.geomspace(1, len(run["episode"]), 20 * POINTS).round().astype(int)) - 1
    episodes = run["episode"][at]
    row[0].plot(episodes, run["regret"][at], color=colour, linewidth=2, label=f"seed {seed}")
    row[0].axvline(explored + 1, color=colour, linewidth=0.8, linestyle=":")
    hoped = {"color": "0.2", "linewidth": 1.5, "label": "optimistic value V~" if first else None}
    row[1].plot(episodes, run["optimistic"][at], **hoped)
    truth = "value of what is played" if first else None
    row[1].plot(episodes, run["value"][at], color=colour, linewidth=0.8, label=truth)


def draw_coverage(path: Path, record: Columns) -> None:
    """How often the event held, by the share of the radius that is used, and how often not."""
    figure, ((left, right),) = _figure((12.0, 4.6), 1, 2)
    found = largest(record)  # (runs, deltas)
    runs = len(found)
    for delta, ratios, colour in zip(DELTAS, found.T, COVERAGE_COLOURS, strict=True):
        share = np.arange(1, runs + 1) / runs
        left.step(np.sort(ratios), share, where="post", color=colour, label=f"δ = {delta:g}")
        failed = int((ratios > 1.0).sum())
        low, high = (max(end, FEWEST) for end in interval(failed, runs))
        right.plot([delta, delta], [low, high], color=colour, linewidth=6, solid_capstyle="butt")
        right.annotate(f"{failed} failed", (delta, high), (0, 5), **_ABOVE)
    left.axvline(1.0, color="0.2", linewidth=1.2, linestyle="--")
    left.annotate("the paper's radius", (1.0, 0.5), (-16, 0), rotation=90, **_ABOVE, va="center")
    left.set(xscale="log", ylim=(0.0, 1.02))
    left.set(xlabel="share of the radius that is used", ylabel="runs in which the event held")
    left.set_title(f"{runs} runs of {EPISODES} episodes", loc="left", fontweight="bold")
    left.legend(frameon=False, loc="center")
    right.plot([0.005, 1.0], [0.005, 1.0], color="0.35", linestyle="--", label="δ, as promised")
    _frame(
        right, "with the paper's radius", "δ", f"share of {runs} runs that failed, 95 % interval"
    )
    right.set_ylim(FEWEST, 1.0)
    right.legend(frameon=False, loc="upper left")
    left.spines[["top", "right"]].set_visible(False)
    left.grid(alpha=0.2)
    figure.savefig(path, dpi=110)


def draw_planners(path: Path, record: Columns) -> None:
    """The worst loss and the worst certified gap over the problems, by accuracy."""
    figure, ((left, right),) = _figure((12.5, 5.0), 1, 2)
    spaces = (("logit", "fast", "logit space"), ("reward", "reward", "reward space"))
    for axes, (space, ours, title) in zip((left, right), spaces, strict=True):
        problems = len(np.unique(where(record, space=space)["seed"]))
        for planner, colour in (("paper", "#D55E00"), (ours, "#0072B2")):
            epsilon, loss, gap, _ = worst(record, space, planner)
            if not len(epsilon):
                continue
            style = {"color": colour, "linewidth": 2, "markersize": 5}
            axes.plot(epsilon, gap, "o--", label=f"{planner}: certified gap", **style)
            axes.plot(
                epsilon, np.maximum(loss, FLOOR), "s-", label=f"{planner}: true loss", **style
            )
        axes.plot([1e-4, 64], [1e-4, 64], color="0.35", linewidth=1, linestyle=":", label="ε")
        axes.axhline(FLOOR, color="#009E73", linewidth=1.5)
        text = "exact: certified gap 0, no loss above rounding"
        axes.annotate(text, (1e-4, FLOOR), (2, 5), textcoords="offset points", fontsize=9)
        _frame(axes, f"{title}: the worst of {problems} problems", "accuracy ε asked for", "lost")
        axes.set_ylim(FLOOR / 3, 40)
        axes.legend(frameon=False, fontsize=8.5, loc="upper left")
    figure.savefig(path, dpi=110)


def worst(record: Columns, space: str, planner: str) -> tuple[Floats, Floats, Floats, Floats]:
    """By accuracy: the largest loss, certified gap and number of cells over the problems."""
    rows = where(record, space=space, planner=planner)
    # An accuracy that some problem could not afford would be the worst of the easy ones.
    seeds = len(np.unique(rows["seed"]))
    groups = [where(rows, epsilon=epsilon) for epsilon in np.unique(rows["epsilon"])]
    kept = [group for group in groups if len(group["seed"]) == seeds]
    epsilon, loss, gap, cells = (
        np.array([group[key].max() for group in kept])
        for key in ("epsilon", "loss", "gap", "cells")
    )
    return epsilon, loss, gap, cells


def _figure(size: tuple[float, float], rows: int, columns: int) -> tuple[Any, Any]:
    figure = load_extra("matplotlib.figure").Figure(figsize=size, layout="constrained")
    load_extra("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _frame(axes: Any, title: str, across: str, up: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set(xlabel=across, ylabel=up)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.grid(alpha=0.2)
    axes.spines[["top", "right"]].set_visible(False)
