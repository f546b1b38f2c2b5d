"""How fast the planner is, as ratios to the bare products that any such sweep must do.

    python -m benchmarks.planner [--json] [--repeats N]

Every ratio is the median over interleaved repetitions in one run, so that a busy machine slows
both sides. `sweep` is one uncertified backward pass, `plan` the certified plan with gap <= 0.01,
`products` the transition matrix times tables of the same number of points (CSR or dense), `numpy`
the same sweep written with vectorised NumPy. All of them begin with the same problem, so packing it
and finding its windows counts for both sweeps. One thread throughout, as in the service. Exits 1
when a ratio misses its limit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse
from scipy.special import expit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from app.learning.world.model import TransitionModel
from app.planning.fast import planner
from app.planning.fast.grid import make_grid, pack
from app.planning.problem import PlanBudget, PlanningProblem

Floats = NDArray[np.float64]

EPSILON = 0.01
LIMITS = {"sweep/products": 2.5, "plan/products": 8.0, "dense sweep/products": 2.0}
NUMPY_LIMIT = 20.0
FEWEST, ENOUGH_SECONDS = 2, 3.0  # of repetitions, for work that is slow


@dataclass(frozen=True)
class Case:
    """A size, and how many states may follow an action (0: all of them)."""

    name: str
    states: int
    actions: int
    horizon: int
    followers: int


CASES = [
    Case("150x4x30 grid", 150, 4, 30, 3),
    Case("64x4x200", 64, 4, 200, 3),
    Case("500x6x200", 500, 6, 200, 3),
    Case("2000x4x100", 2000, 4, 100, 3),
    Case("150x4x30 dense", 150, 4, 30, 0),
    Case("64x4x200 dense", 64, 4, 200, 0),
    Case("500x6x200 dense", 500, 6, 200, 0),
]


def make_problem(case: Case, seed: int = 0) -> PlanningProblem:
    """A model of the case's size: moves to near states (or to all), logits within +-8."""
    rng = np.random.default_rng(seed)
    S, A, H = case.states, case.actions, case.horizon
    matrix = np.zeros((S * A, 2 * S + 1))
    for s in range(S):
        for a in range(A):
            if case.followers:
                hops = rng.choice(np.arange(-6, 7), case.followers, replace=False)
                matrix[s * A + a, (s + hops) % S] = rng.dirichlet(np.ones(case.followers))
            else:
                matrix[s * A + a, :S] = rng.dirichlet(np.ones(S))
    weights = np.broadcast_to(rng.uniform(-8.0 / H, 8.0 / H, (S, A)), (H, S, A)).copy()
    bonuses = np.broadcast_to(rng.uniform(0.0, 0.1 / H, (S, A)), (H, S, A)).copy()
    start = np.full(S, 1.0 / S)
    transitions = TransitionModel.from_dense(matrix, S, A)
    return PlanningProblem(start, transitions, weights, bonuses, np.zeros((H + 1, S + 1)))


def sizes_by_step(problem: PlanningProblem, delta: float) -> list[int]:
    """How many points a state has at each step, on average."""
    grid = make_grid(pack(problem), delta, planner.SATURATION, PlanBudget())
    counts: Floats = (grid.high - grid.low + 1)[:, : problem.states].mean(axis=1)
    return [max(1, round(count)) for count in counts]


def bare_products(problem: PlanningProblem, sizes: list[int], dense: bool) -> Callable[[], None]:
    """The products alone: the transition matrix times a table, for every step but the last."""
    S = problem.states
    table = problem.transitions.dense()[:, :S]
    matrix = table if dense else sparse.csr_array(table)
    values = [np.random.default_rng(1).random((S, size)) for size in sizes[1:]]

    def run() -> None:
        for value in values:
            matrix @ value

    return run


def numpy_sweep(problem: PlanningProblem, delta: float) -> Callable[[], Floats]:
    """The uncertified sweep with vectorised NumPy on the same windows, taken to their union."""
    H, S, A = problem.weights.shape

    def run() -> Floats:
        model = pack(problem)
        grid = make_grid(model, delta, planner.SATURATION, PlanBudget())
        table: Floats
        points = np.arange(grid.low[H - 1, -1], grid.high[H - 1, -1] + 1) * delta
        logits = points[None, None, :] + problem.weights[H - 1][:, :, None]
        table = (expit(logits) + problem.bonuses[H - 1][:, :, None]).max(axis=1)
        for h in range(H - 2, -1, -1):
            parts = table[model.columns] * model.probabilities[:, None]
            expected = np.add.reduceat(parts, model.indptr[:-1], axis=0)
            moves = (problem.weights[h] / delta).reshape(S * A)
            whole = np.floor(moves).astype(np.int64)
            theta = (moves - whole)[:, None]
            index = np.arange(grid.low[h, -1], grid.high[h, -1] + 1)[None, :] + whole[:, None]
            index = np.clip(index - grid.low[h + 1, -1], 0, expected.shape[1] - 1)
            after = np.minimum(index + 1, expected.shape[1] - 1)
            down = np.take_along_axis(expected, index, axis=1)
            up = np.take_along_axis(expected, after, axis=1)
            q = (1.0 - theta) * down + theta * up
            table = (q.reshape(S, A, -1) + problem.bonuses[h][:, :, None]).max(axis=1)
        return table

    return run


def timed(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure(case: Case, repeats: int) -> dict[str, float | str]:
    """Interleaved medians of one case, and their ratios."""
    problem = make_problem(case)
    delta = planner.first_width(EPSILON, case.horizon)
    dense = case.followers == 0
    work: dict[str, Callable[[], object]] = {
        "products": bare_products(problem, sizes_by_step(problem, delta), dense),
        "sweep": lambda: planner.plan_fast(problem, EPSILON, certify=False),
        "plan": lambda: planner.plan_fast(problem, EPSILON),
    }
    if not dense:
        work["numpy"] = numpy_sweep(problem, delta)
    plan = planner.plan_fast(problem, EPSILON)  # compiled, and in the caches, from here on
    rounds: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(repeats):
        for name, run in work.items():
            if turn < FEWEST or sum(rounds[name]) < ENOUGH_SECONDS:
                rounds[name].append(timed(run))
    seconds = {name: statistics.median(times) for name, times in rounds.items()}
    row: dict[str, float | str] = {"case": case.name, "gap": plan.gap, "cells": plan.cells}
    row |= {f"{name} ms": 1e3 * value for name, value in seconds.items()}
    row["MB"] = plan.bytes / 1e6
    row["sweep/products"] = seconds["sweep"] / seconds["products"]
    row["plan/products"] = seconds["plan"] / seconds["products"]
    if not dense:
        row["numpy/sweep"] = seconds["numpy"] / seconds["sweep"]
    return row


def failures(row: dict[str, float | str]) -> list[str]:
    """Which limits a row misses."""
    dense = "dense" in str(row["case"])
    checks = {
        "sweep/products": LIMITS["dense sweep/products" if dense else "sweep/products"],
        **({} if dense else {"plan/products": LIMITS["plan/products"]}),
    }
    missed = [f"{name} > {limit}" for name, limit in checks.items() if float(row[name]) > limit]
    if float(row["gap"]) > EPSILON:
        missed.append(f"gap > {EPSILON}")
    if not dense and float(row["numpy/sweep"]) < NUMPY_LIMIT:
        missed.append(f"numpy/sweep < {NUMPY_LIMIT}")
    return missed


def main() -> None:
    """Measure every case and print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    with threadpool_limits(1):
        rows = [measure(case, options.repeats) for case in CASES]
    missed = {str(row["case"]): failures(row) for row in rows if failures(row)}
    if options.json:
        print(json.dumps({"rows": rows, "missed": missed}, indent=1))
    else:
        names = list(dict.fromkeys(name for row in rows for name in row))
        table = Table(*names, title="planner")
        for row in rows:
            cells = [row.get(name, "") for name in names]
            table.add_row(*[f"{c:.3g}" if isinstance(c, float) else str(c) for c in cells])
        Console(width=160).print(table)
        Console().print("all limits met" if not missed else f"missed: {missed}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
