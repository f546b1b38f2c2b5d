"""How few labels the agents need, on fresh seeds, with no tuning per task.

    python -m benchmarks.learning [--sections main,auto,...] [--seeds 20] [--jobs N]

Each section is one table of `docs/learning.md`. Its rows go to `docs/learning.json`, from which the
page is written anew, so that sections can be measured one at a time.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console

from app.simulation.experiment import experiment, reached_median
from app.simulation.runner import Setting
from app.simulation.tasks import load_task
from benchmarks.learning_page import page
from benchmarks.peers import PEERS, run_peer

DOCS = Path(__file__).parent.parent / "docs"
RECORD, PAGE = DOCS / "learning.json", DOCS / "learning.md"
FIRST_SEED = 7000  # seeds that no setting was chosen on
AUTO = {"kind": "auto"}
FULL = {"kind": "one_hot", "over": ["step", "state", "action"]}
FAMILY = tuple(f"random-{index}" for index in range(6))
COUNTS = {"kind": "one_hot", "over": ["state"]}
CORNERS = (0, 4, 20, 24)  # of the 5 x 5 grid of `visit-both`
PAIRS = {
    "kind": "events",
    "events": [{"visited": corner} for corner in CORNERS]
    + [{"both": list(pair)} for pair in combinations(CORNERS, 2)],
}
GOAL = {"kind": "events", "events": [{"visited": 15}]}  # of FrozenLake 4x4
SINGLE_MAPS = {
    "state": {"kind": "one_hot", "over": ["state"]},
    "state, action": {"kind": "one_hot", "over": ["state", "action"]},
    "step, state": {"kind": "one_hot", "over": ["step", "state"]},
    "step, state, action": FULL,
    "last state": {"kind": "one_hot", "over": ["state"], "steps": "last"},
}
FAMILIES = {
    "FrozenLake 4x4": ("frozenlake-4x4",),
    "FrozenLake 8x8": ("frozenlake-8x8",),
    "RiverSwim": ("riverswim-6", "riverswim-12"),
    "collect": ("collect",),
    "grid": ("grid",),
    "random": FAMILY,
}
CORE = ("frozenlake-4x4", "riverswim-12", "collect", "grid")

Row = dict[str, Any]
console = Console()


@dataclass(frozen=True)
class Goal:
    """What a row is to reach: the median of episodes to 90 %, and how many seeds may fail."""

    task: str
    median: float
    failed: int
    episodes: int = 1000
    seeds: int | None = None


GOALS = (
    Goal("frozenlake-4x4", 80, 1),
    Goal("frozenlake-8x8", 250, 0, episodes=1500, seeds=5),
    Goal("riverswim-6", 15, 0),
    Goal("riverswim-12", 25, 0),
    Goal("collect", 60, 1),
    Goal("grid", 150, 1),
)


class Bench:
    """Runs settings on the fresh seeds and says what came out."""

    def __init__(self, seeds: int, jobs: int | None) -> None:
        self.seeds, self.jobs = seeds, jobs

    def measure(self, setting: Setting, seeds: int | None = None) -> Row:
        """One setting: episodes to 90 %, failures, regret."""
        runs = experiment(setting, self._seeds(seeds), self.jobs).runs
        row = {"task": setting.task, "episodes": setting.episodes}
        row |= _row([run.reached for run in runs], [run.regret for run in runs])
        console.print(f"{setting.task:15} {_features(setting):10} {row}", highlight=False)
        return row

    def measure_peers(
        self, task: str, episodes: int, seeds: int | None = None
    ) -> dict[str, dict[str, Row]]:
        """Every peer in every setting, on the same seeds: {setting: {kind: row}}."""
        chosen = self._seeds(seeds)
        rows: dict[str, dict[str, Row]] = {setting: {} for setting in PEERS}
        with ProcessPoolExecutor(self.jobs, get_context("spawn")) as pool:
            for setting, kinds in PEERS.items():
                for kind in kinds:
                    jobs = [(setting, kind, task, episodes, seed) for seed in chosen]
                    reached, regrets = zip(*pool.map(_peer_run, jobs), strict=True)
                    row = rows[setting][kind] = _row(reached, regrets)
                    console.print(f"{task:15} {setting:10} {kind:18} {row}", highlight=False)
        return rows

    def _seeds(self, most: int | None) -> range:
        return range(FIRST_SEED, FIRST_SEED + min(most or self.seeds, self.seeds))


def _row(reached: Sequence[int | None], regrets: Sequence[float]) -> Row:
    return {
        "seeds": len(reached),
        "median": reached_median(reached),
        "failed": sum(episodes is None for episodes in reached),
        "regret": round(statistics.fmean(regrets), 1),
    }


def _peer_run(job: tuple[str, str, str, int, int]) -> tuple[int | None, float]:
    """The episodes to 90 % and the regret of one run."""
    setting, kind, task, episodes, seed = job
    run = run_peer(setting, kind, load_task(task), episodes, seed)
    return run.episodes_to_90, float(run.regret[-1])


def _features(setting: Setting) -> str:
    if setting.features is None:
        return "suggested"
    return "full" if setting.features == FULL else str(setting.features["kind"])


def main_rows(bench: Bench) -> list[Row]:
    """The suggested features and `auto`, against the goals."""
    rows = []
    for goal in GOALS:
        setting = Setting(goal.task, goal.episodes)
        pair = {
            "suggested": bench.measure(setting, goal.seeds),
            "auto": bench.measure(replace(setting, features=AUTO), goal.seeds),
        }
        rows.append(pair | {"task": goal.task, "goal": goal.median, "may_fail": goal.failed})
    return rows


def peer_rows(bench: Bench) -> list[Row]:
    """What tabular peers need for the tasks of `main`."""
    return [
        {"task": goal.task, "peers": bench.measure_peers(goal.task, goal.episodes, goal.seeds)}
        for goal in GOALS
    ]


def random_rows(bench: Bench) -> list[Row]:
    """Random MDPs: regret at 3000 episodes beside the tabular peers' on the same seeds."""
    rows = []
    for task in FAMILY:
        setting = Setting(task, 3000)
        results = {
            "suggested": bench.measure(setting),
            "auto": bench.measure(replace(setting, features=AUTO)),
        }
        rows.append(results | {"task": task, "peers": bench.measure_peers(task, setting.episodes)})
    return rows


def hard_rows(**changes: Any) -> Callable[[Bench], list[Row]]:
    """The core tasks under one difficulty."""

    def rows(bench: Bench) -> list[Row]:
        settings = [replace(Setting(task, 1000), **changes) for task in CORE]
        return [{"task": setting.task, "suggested": bench.measure(setting)} for setting in settings]

    return rows


def single_rows(bench: Bench) -> list[Row]:
    """`auto` against every single map, by the regret of a family's tasks together."""
    return [
        {"task": family, "auto": _together(bench, tasks, AUTO)}
        | {"maps": {name: _together(bench, tasks, spec) for name, spec in SINGLE_MAPS.items()}}
        | {"suggested": _together(bench, tasks, None)}
        for family, tasks in FAMILIES.items()
    ]


def _together(bench: Bench, tasks: tuple[str, ...], features: Row | None) -> Row:
    """The sums over a family's tasks of regret, runs and failures."""
    rows = [bench.measure(Setting(task, 300, features=features), 6) for task in tasks]
    sums = {name: sum(row[name] for row in rows) for name in ("regret", "failed", "seeds")}
    return {name: round(total, 1) for name, total in sums.items()}


def event_rows(bench: Bench) -> list[Row]:
    """A label that needs a conjunction: with events, and with features that are sums."""
    grid, corridor = Setting("visit-both", 300), Setting("corridor", 100)
    exact = replace(corridor, algorithm={"kind": "ucbvi_exact"})
    settings = {
        "`visit-both`, `thompson`: the two corners and both of them": grid,
        "`visit-both`, `thompson`: all four corners, every two of them": replace(
            grid, features=PAIRS
        ),
        "`visit-both`, `ucbvi`: the two corners and both of them": replace(
            grid, algorithm={"kind": "ucbvi"}
        ),
        "`frozenlake-4x4`, `thompson`: visited the goal": Setting(
            "frozenlake-4x4", 400, features=GOAL
        ),
        "`visit-both`, `thompson`: counts of states": replace(grid, features=COUNTS),
        "`visit-both`, `thompson`: `auto`": replace(grid, features=AUTO),
        "`corridor`, `thompson`: the two ends and both of them": corridor,
        "`corridor`, `ucbvi_exact`: the two ends and both of them": exact,
        "`corridor`, `ucbvi_exact`: step, state and action": replace(exact, features=FULL),
        "`corridor`, `ucbvi_exact`: counts of states": replace(exact, features=COUNTS),
    }
    return [
        {"task": name, "suggested": bench.measure(setting)} for name, setting in settings.items()
    ]


SECTIONS: dict[str, Callable[[Bench], list[Row]]] = {
    "main": main_rows,
    "peers": peer_rows,
    "random": random_rows,
    "single": single_rows,
    "late10": hard_rows(delay=10),
    "late50": hard_rows(delay=50),
    "fleet16": hard_rows(parallel=16, episodes=320),
    "flips10": hard_rows(flips=0.1),
    "full": hard_rows(episodes=300, features=FULL),
    "events": event_rows,
}


def main() -> None:
    """Measure the chosen sections, keep the record, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=None)
    options = parser.parse_args()
    bench = Bench(options.seeds, options.jobs)
    for name in options.sections.split(","):
        rows = SECTIONS[name](bench)
        record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        RECORD.write_text(json.dumps(record | {name: rows}, indent=1) + "\n")
    PAGE.write_text(page(json.loads(RECORD.read_text())))
    console.print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
