"""The numbers beside the figures of the paper's theory, in Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from app.learning.paper.regret_bounds import optimism_regret
from benchmarks.paper import algorithm_3
from benchmarks.paper.coverage import DELTAS, interval, largest
from benchmarks.paper.plots import regrets, says_something, worst
from benchmarks.paper.regret import CONTENDERS, WORLDS
from benchmarks.records import Columns, known, where

SHARES = (20, 4, 1)  # a run is looked at after these parts of its episodes
LOSING = 0.01  # in an episode, on average since a quarter of them


def regret_table(record: Columns) -> str:
    """The mean regret of every kind, how it grows, and what the theorems say."""
    lines: list[str] = []
    for world, make in WORLDS.items():
        known = make()
        rows = [_regret_row(record, world, name) for name in CONTENDERS]
        at = next((row[0] for row in rows if row), [])
        heads = [f"after {number:,}" for number in at]
        lines += _table(
            [world, "runs", *heads, "slope at the end", "still losing"],
            [row[1] for row in rows if row],
        )
        bounds = says_something(known)
        last = at[-1] if at else 2000
        bound = optimism_regret(known.theory, last)
        text = f"Bound of Algorithm 1 after {last:,} episodes: {bound:.1e}; "
        text += f"below N itself from N = {bounds[0]:.0e} on"
        if bounds[1] is not None:
            text += f". Bound of Algorithm 3, with C1 = C2 = C3 = 1: from N = {bounds[1]:.0e} on"
        lines += ["", text + ".", ""]
    return "\n".join(lines)


def _regret_row(record: Columns, world: str, name: str) -> tuple[list[int], list[str]] | None:
    at, regret = regrets(record, world=world, name=name)
    if not len(regret):
        return None
    places = [int(np.searchsorted(at, at[-1] / share)) for share in SHARES]
    mean = regret.mean(axis=0)
    cells = [f"{mean[place]:.1f}" for place in places]
    slope = math.log(mean[places[2]] / mean[places[1]]) / math.log(at[places[2]] / at[places[1]])
    since = (regret[:, places[2]] - regret[:, places[1]]) / (at[places[2]] - at[places[1]])
    losing = f"{int((since > LOSING).sum())} of {len(regret)}"
    row = [CONTENDERS[name].label, str(len(regret)), *cells, f"{slope:.2f}", losing]
    return [int(at[place]) for place in places], row


def algorithm_3_table(record: Columns) -> str:
    """How long every run explored, what it lost, and the least that its plans hoped for."""
    rows = []
    for world, seed in sorted(known(record, "world", "seed")):
        run = where(record, world=world, seed=seed)
        regret, total = run["regret"], len(run["episode"])
        explored = int((run["phase"] != "optimism").sum())
        size = algorithm_3.make_agent(world, int(seed)).size
        parts = [regret[explored - 1], regret[total // 2 - 1], regret[-1]]
        rows.append([
            world, f"{seed:.0f}", f"{total:,}", f"{size.n_euler:,} + {size.n_eval:,}",
            f"{explored:,}", *(f"{part:,.1f}" for part in parts),
            f"{(parts[2] - parts[1]) / (total - total // 2):.3f}",
            f"{min(run['optimistic'][explored + 1 :], default=np.nan):.2f}",
            f"{run['condition'][-1]:.1f}",
        ])  # fmt: skip
    heads = ["world", "seed", "N", "N_EUL + N_EVAL", "episodes explored", "regret then"]
    heads += ["after N / 2", "after N", "lost an episode since N / 2", "least V~"]
    return "\n".join([*_table([*heads, "condition number of Sigma_N"], rows), ""])


def coverage_table(record: Columns) -> str:
    """How often the event held, and what share of the radius would have been enough."""
    found, rows = largest(record), []
    runs = len(found)
    for delta, ratios in zip(DELTAS, found.T, strict=True):
        held = int((ratios <= 1.0).sum())
        low, high = interval(held, runs)
        enough = float(np.quantile(ratios, 1.0 - delta, method="higher"))
        cells = [f"{held} of {runs}", f"{low:.4f} to {high:.4f}"]
        rows.append([f"{delta:g}", *cells, f"{ratios.max():.1e}", f"{enough:.1e}"])
    heads = ["δ", "held in", "95 % interval", "largest error / radius"]
    return "\n".join([*_table([*heads, "share of β that holds in 1 - δ of the runs"], rows), ""])


def planners_table(record: Columns) -> str:
    """The worst certified gap and the worst loss of every planner, by accuracy."""
    rows = []
    for space, planner in (
        ("logit", "paper"), ("logit", "fast"), ("logit", "exact"),
        ("reward", "paper"), ("reward", "reward"), ("reward", "exact"),
    ):  # fmt: skip
        for epsilon, loss, gap, cells in zip(*worst(record, space, planner), strict=True):
            accuracy = f"{epsilon:g}" if epsilon else "none"
            numbers = [f"{gap:.1e}", f"{max(loss, 0.0):.1e}", f"{cells:,.0f}"]
            rows.append([f"{space} space, `{planner}`", accuracy, *numbers])
    heads = ["planner", "ε", "largest certified gap", "largest true loss", "most cells"]
    return "\n".join([*_table(heads, rows), ""])


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


TABLES: dict[str, Callable[[Columns], str]] = {
    "regret": regret_table,
    "algorithm_3": algorithm_3_table,
    "coverage": coverage_table,
    "planners": planners_table,
}
