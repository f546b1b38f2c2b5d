"""The paper's theory, measured: regret beside its bounds, confidence, and what planners lose.

    python -m benchmarks.paper [--only regret,coverage,planners] [--runs N] [--quick] [--draw]

Every run goes to a record as it finishes and is not repeated, so that a run that was stopped goes
on. From the records the figures are drawn and the tables of `docs/paper.md` are written; with
`--draw` that is all that is done. `--quick` makes a few short runs, in `build/figures`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

import benchmarks.paper.coverage as coverage_runs
import benchmarks.paper.planners as planner_runs
import benchmarks.paper.regret as regret_runs
from benchmarks.paper import plots
from benchmarks.paper.tables import TABLES

Record = dict[str, Any]

ROOT = Path(__file__).parent.parent.parent
FIGURES, QUICK = ROOT / "docs" / "figures", ROOT / "build" / "figures"
PAGE = ROOT / "docs" / "paper.md"
FIRST_SEED = 9000  # seeds that no setting was chosen on
console = Console(highlight=False)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    runs: int | None = None  # of each thing; None: as many as each figure needs
    episodes: int = 2000  # of one run of the regret

    def of(self, runs: int) -> int:
        """The runs of a figure that needs so many."""
        return self.runs or runs


def regret(size: Size, known: list[Record]) -> Iterator[list[Record]]:
    """Runs of every kind in every world."""
    done = {(row["world"], row["name"], row["seed"]) for row in known}
    for seed in range(FIRST_SEED, FIRST_SEED + size.of(10)):
        for world in regret_runs.WORLDS:
            for name in regret_runs.CONTENDERS:
                # Acting uniformly is worth the same in every run.
                if (world, name, seed) in done or (name == "uniform" and seed > FIRST_SEED):
                    continue
                yield [regret_runs.play(world, name, seed, size.episodes)]


def coverage(size: Size, known: list[Record]) -> Iterator[list[Record]]:
    """Runs of the confidence event."""
    done = {row["seed"] for row in known}
    for seed in range(FIRST_SEED, FIRST_SEED + size.of(1000)):
        if seed not in done:
            yield [coverage_runs.measure(seed)]


def planners(size: Size, known: list[Record]) -> Iterator[list[Record]]:
    """Random problems, in both spaces."""
    done = {(row["space"], row["seed"]) for row in known}
    for seed in range(FIRST_SEED, FIRST_SEED + size.of(20)):
        for space in planner_runs.PLANNERS:
            if (space, seed) not in done:
                yield planner_runs.measure(space, seed)


MEASURES: dict[str, Callable[[Size, list[Record]], Iterator[list[Record]]]] = {
    "regret": regret,
    "coverage": coverage,
    "planners": planners,
}
DRAWINGS: dict[str, Callable[[Path, list[Record]], None]] = {
    "regret": plots.draw_regret,
    "coverage": plots.draw_coverage,
    "planners": plots.draw_planners,
}


def measure(name: str, folder: Path, size: Size) -> None:
    """Make the runs that are missing; a run that is stopped loses the last few at most."""
    path, record = folder / f"{name}.json", read(name, folder)
    for count, rows in enumerate(MEASURES[name](size, record), start=1):
        record += rows
        if count % 20 == 0 or name == "regret":
            write(path, record)
            console.print(f"{name}: {count} runs")
    write(path, record)


def read(name: str, folder: Path = FIGURES) -> list[Record]:
    """The record of a figure."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else []


def write(path: Path, record: list[Record]) -> None:
    """Store a record, one run a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in record) + "\n]\n")


def main() -> None:
    """Measure what is missing, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default=",".join(MEASURES), help="figures")
    parser.add_argument("--runs", type=int, help="of each thing; 10, 1000 and 20")
    parser.add_argument("--quick", action="store_true", help="short runs, and elsewhere")
    parser.add_argument("--draw", action="store_true", help="from the records, without any run")
    chosen = parser.parse_args()
    size = Size(chosen.runs or 2, 60) if chosen.quick else Size(chosen.runs)
    folder = QUICK if chosen.quick else FIGURES
    for name in chosen.only.split(","):
        if not chosen.draw:
            measure(name, folder, size)
        record = read(name, folder)
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
