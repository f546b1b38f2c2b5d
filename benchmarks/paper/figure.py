"""The paper's experiment and its figure: REINFORCE on a grid whose start and goal change.

    python -m benchmarks.paper.figure [--runs N] [--only working,literal] [--draw]

Every run drives the agent kind `reinforce` itself. Runs go to a record as they finish and are not
repeated, so that they can be made a few at a time. The record has a row for every 25 gradient
steps, which are 750 episodes: all six million episodes would be too many rows. From the record the
figure is drawn and the table in `docs/reinforce.md` is written; with `--draw` that is all.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console

from app.agents import AgentSpec, make_agent
from app.planning.policies.network import NetworkPolicy
from app.wire.validation import parse
from benchmarks import records
from benchmarks.goal_grid import GoalGrid
from benchmarks.paper.drawing import draw, table

DOCS = Path(__file__).parent.parent.parent / "docs"
FIGURES, PAGE = DOCS / "figures", DOCS / "reinforce.md"
RECORD, PICTURE = FIGURES / "paper_experiment.csv.gz", FIGURES / "paper_experiment.png"
PATHS = FIGURES / "paper_experiment_paths.json"  # of the first run of each configuration
FIRST_SEED = 5000  # seeds that no setting was chosen on
BATCH, EVERY = 30, 25
MARKS = ("<!-- runs: written by benchmarks.paper.figure -->\n", "<!-- end of runs -->\n")
SHOWN = (10**9, 10**9 + 1)  # the episodes whose paths are drawn; far beyond any that is learned

COLUMNS = {
    "name": "the configuration",
    "seed": "of the agent and of the grid's luck",
    "step": "gradient steps so far, of 30 episodes each",
    "episode": "episodes so far",
    "good": "good labels since the row before",
    "value": "the exact success probability of the policy, over all starts and goals",
    "regret": "the sum of 1 - value so far, by trapezoids between the rows",
}

Record = dict[str, Any]
console = Console()


@dataclass(frozen=True)
class Configuration:
    """What is learned with, and for how many gradient steps."""

    options: dict[str, Any]
    steps: int
    runs: int
    hints: bool = False


CONFIGURATIONS = {
    "working": Configuration({}, 2000, runs=40),
    "slow": Configuration({"step_size": 1e-3}, 2000, runs=12),
    "hints": Configuration({"activation": "relu"}, 600, runs=12, hints=True),
    "literal": Configuration({"configuration": "literal"}, 1000, runs=40),
}


def run(name: str, seed: int) -> tuple[list[Record], Record]:
    """Train one agent: its exact success every few gradient steps, and sample paths."""
    chosen = CONFIGURATIONS[name]
    grid = GoalGrid(chosen.hints)
    labels: list[int] = []
    policies = train(grid, {"kind": "reinforce", **chosen.options}, seed, chosen.steps, labels)
    first = next(policies)
    rows, last = [_row(name, seed, 0, grid.success(first))], first
    for step, policy in enumerate(policies, start=1):
        if step % EVERY == 0:
            rows.append(_row(name, seed, step, grid.success(policy), rows[-1], sum(labels)))
            labels.clear()
        last = policy
    paths = {"untrained": _paths(grid, first, seed), "trained": _paths(grid, last, seed)}
    return rows, paths


def _row(
    name: str, seed: int, step: int, value: float, before: Record | None = None, good: int = 0
) -> Record:
    regret, episode = 0.0, step * BATCH
    if before is not None:
        missed = 1.0 - (before["value"] + value) / 2.0
        regret = before["regret"] + (episode - before["episode"]) * missed
    row = {"name": name, "seed": seed, "step": step, "episode": episode, "good": good}
    return row | {"value": value, "regret": regret}


def train(
    grid: GoalGrid, algorithm: dict[str, Any], seed: int, steps: int, labels: list[int]
) -> Iterator[NetworkPolicy]:
    """The agent's policy before each gradient step and after the last; ``labels`` are added to."""
    agent = make_agent(parse(AgentSpec, grid.spec(algorithm, seed)))
    for first in range(0, steps * BATCH, BATCH):
        policy = agent.plan(first).policy
        assert isinstance(policy, NetworkPolicy)
        yield policy
        episodes = range(first, first + BATCH)
        for number, played in zip(episodes, grid.play(policy, seed, episodes), strict=True):
            agent.plays(number, first)
            agent.finish(number, played.trajectory)
            agent.label(number, played.label)
            labels.append(played.label)
    policy = agent.plan(steps * BATCH).policy
    assert isinstance(policy, NetworkPolicy)
    yield policy


def _paths(grid: GoalGrid, policy: NetworkPolicy, seed: int) -> list[Record]:
    return [
        {"path": run.path.tolist(), "goal": run.goal, "label": run.label}
        for run in grid.play(policy, seed, SHOWN)
    ]


def measure(names: list[str], runs: int | None, jobs: int) -> None:
    """Make the runs that are missing, and keep each as soon as it is there."""
    known = records.known(records.read(RECORD), "name", "seed")
    wanted = [
        (name, FIRST_SEED + index)
        for name in names
        for index in range(runs or CONFIGURATIONS[name].runs)
    ]
    missing = sorted(set(wanted) - known, key=lambda run: run[1])
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        futures = {pool.submit(run, *one): one for one in missing}
        for count, future in enumerate(as_completed(futures), start=1):
            keep(*futures[future], *future.result())
            console.print(f"{count} of {len(missing)} runs")


def keep(name: str, seed: int, rows: list[Record], paths: Record) -> None:
    """Store a run."""
    records.append(RECORD, rows)
    records.describe(RECORD, "python -m benchmarks.paper.figure", COLUMNS)
    if seed == FIRST_SEED:
        PATHS.write_text(json.dumps(sample_paths() | {name: paths}) + "\n")


def sample_paths() -> Record:
    """Two sample paths of each configuration, untrained and trained."""
    return json.loads(PATHS.read_text()) if PATHS.exists() else {}


def main() -> None:
    """Measure what is missing, draw, and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, help="of each configuration; 40 or 12")
    parser.add_argument("--only", default=",".join(CONFIGURATIONS), help="configurations")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--draw", action="store_true", help="from the record, without any run")
    chosen = parser.parse_args()
    if not chosen.draw:
        measure(chosen.only.split(","), chosen.runs, chosen.jobs)
    record = records.read(RECORD)
    draw(PICTURE, record, sample_paths(), CONFIGURATIONS["working"].steps)
    PAGE.write_text(with_table(PAGE.read_text(), table(record)))
    console.print(table(record), soft_wrap=True)


def with_table(page: str, rows: str) -> str:
    """The page with these rows between its marks."""
    before, rest = page.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    return before + MARKS[0] + rows + MARKS[1] + after


if __name__ == "__main__":
    main()
