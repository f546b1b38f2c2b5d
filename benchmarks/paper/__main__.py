"""The paper's theory, measured: regret beside its bounds, confidence, and what planners lose.

    python -m benchmarks.paper [--only regret,algorithm_3,coverage,planners] [--runs N] [--quick]
                               [--draw]

Every run goes to a record as it finishes and is not repeated, so that a run that was stopped goes
on. From the records the figures are drawn and the tables of `docs/paper.md` are written; with
`--draw` that is all that is done. `--quick` makes a few short runs, in `build/figures`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

import benchmarks.paper.algorithm_3 as algorithm_3_runs
import benchmarks.paper.coverage as coverage_runs
import benchmarks.paper.planners as planner_runs
import benchmarks.paper.regret as regret_runs
from benchmarks import records
from benchmarks.paper import plots
from benchmarks.paper.tables import TABLES
from benchmarks.records import Columns

Record = dict[str, Any]
Runs = Iterator[list[Record]]

ROOT = Path(__file__).parent.parent.parent
FIGURES, QUICK = ROOT / "docs" / "figures", ROOT / "build" / "figures"
PAGE = ROOT / "docs" / "paper.md"
FIRST_SEED = 9000  # seeds that no setting was chosen on
console = Console(highlight=False)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    runs: int | None = None  # of each thing; None: as many as each figure needs
    episodes: int | None = None  # of one run of regret and of Algorithm 3; None: all

    def seeds(self, runs: int) -> range:
        """The seeds of a figure that needs so many runs."""
        return range(FIRST_SEED, FIRST_SEED + (self.runs or runs))


def regret(size: Size, record: Columns) -> Runs:
    """Runs of every kind in every world."""
    done = records.known(record, "world", "name", "seed")
    for seed in size.seeds(10):
        for world in regret_runs.WORLDS:
            for name in regret_runs.CONTENDERS:
                # Acting uniformly is worth the same in every run.
                if (world, name, seed) in done or (name == "uniform" and seed > FIRST_SEED):
                    continue
                yield regret_runs.play(world, name, seed, size.episodes or 2000)


def algorithm_3(size: Size, record: Columns) -> Runs:
    """Whole runs of Algorithm 3."""
    done = records.known(record, "world", "seed")
    for seed in size.seeds(4):
        for world in algorithm_3_runs.EPISODES:
            if (world, seed) not in done:
                yield list(algorithm_3_runs.play(world, seed, size.episodes))


def coverage(size: Size, record: Columns) -> Runs:
    """Runs of the confidence event, twenty at a time."""
    done = {seed for (seed,) in records.known(record, "seed")}
    missing = [seed for seed in size.seeds(1000) if seed not in done]
    for first in range(0, len(missing), 20):
        few = missing[first : first + 20]
        yield [row for seed in few for row in coverage_runs.measure(seed)]


def planners(size: Size, record: Columns) -> Runs:
    """Random problems, in both spaces."""
    done = records.known(record, "space", "seed")
    for seed in size.seeds(20):
        for space in planner_runs.PLANNERS:
            if (space, seed) not in done:
                yield planner_runs.measure(space, seed)


MEASURES: dict[str, tuple[Callable[[Size, Columns], Runs], Mapping[str, str]]] = {
    "regret": (regret, regret_runs.COLUMNS),
    "algorithm_3": (algorithm_3, algorithm_3_runs.COLUMNS),
    "coverage": (coverage, coverage_runs.COLUMNS),
    "planners": (planners, planner_runs.COLUMNS),
}
DRAWINGS: dict[str, Callable[[Path, Columns], None]] = {
    "regret": plots.draw_regret,
    "algorithm_3": plots.draw_algorithm_3,
    "coverage": plots.draw_coverage,
    "planners": plots.draw_planners,
}


def measure(name: str, folder: Path, size: Size) -> None:
    """Make the runs that are missing."""
    path, (runs, columns) = folder / f"{name}.csv.gz", MEASURES[name]
    for count, rows in enumerate(runs(size, records.read(path)), start=1):
        records.append(path, rows)
        console.print(f"{name}: {count} done")
        if count == 1:
            records.describe(path, f"python -m benchmarks.paper --only {name}", columns)


def main() -> None:
    """Measure what is missing, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default=",".join(MEASURES), help="figures")
    parser.add_argument("--runs", type=int, help="of each thing; 10, 4, 1000 and 20")
    parser.add_argument("--quick", action="store_true", help="short runs, and elsewhere")
    parser.add_argument("--draw", action="store_true", help="from the records, without any run")
    chosen = parser.parse_args()
    size = Size(chosen.runs or 2, 60) if chosen.quick else Size(chosen.runs)
    folder = QUICK if chosen.quick else FIGURES
    for name in chosen.only.split(","):
        if not chosen.draw:
            measure(name, folder, size)
        record = records.read(folder / f"{name}.csv.gz")
        DRAWINGS[name](folder / f"{name}.png", record)
        table = TABLES[name](record)
        console.print(table, soft_wrap=True)
        if not chosen.quick:
            PAGE.write_text(with_table(PAGE.read_text(), name, table))


def with_table(page: str, name: str, table: str) -> str:
    """The page with this table between the marks of its name."""
    first, last = f"<!-- {name}: written by benchmarks.paper -->\n", f"<!-- end of {name} -->\n"
    before, rest = page.split(first)
    _, after = rest.split(last)
    return before + first + table + last + after


if __name__ == "__main__":
    main()
