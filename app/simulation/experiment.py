"""Run many seeds of one setting in parallel processes, and summarise them."""

from __future__ import annotations

import math
import multiprocessing
import os
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from app.simulation.curve import Curve, Levels
from app.simulation.runner import Run, Setting, prepare, run
from app.wire.base import JsonObject

POLL_SECONDS = 0.2
POINTS = 60  # of a learning curve

_played: Any = None  # in a worker: the counter that it shares with the parent


@dataclass(frozen=True)
class Experiment:
    """The runs of all seeds, and the reference levels of the task."""

    setting: Setting
    runs: list[Run]
    optimum: float
    uniform: float

    def reached_median(self) -> float | None:
        """The median number of episodes until the agent was good enough."""
        return reached_median([run.reached for run in self.runs])

    def failed(self) -> int:
        """The number of seeds that never became good enough."""
        return sum(run.reached is None for run in self.runs)

    def regret_mean(self) -> float:
        """The mean regret over the seeds."""
        return statistics.fmean(run.regret for run in self.runs)

    def curve(self, label: str) -> Curve:
        """The true success probability of the policies, averaged over groups of episodes."""
        values = np.array([run.values for run in self.runs])
        edges = np.unique(np.linspace(0, values.shape[1], POINTS + 1).round().astype(int))
        means = np.add.reduceat(values, edges[:-1], axis=1) / np.diff(edges)
        return Curve(label, edges[1:].astype(np.int64), means)

    def levels(self) -> Levels:
        """The best possible and the uniformly random success probability."""
        return Levels(self.optimum, self.uniform)

    def summary(self) -> JsonObject:
        """All measurements as plain JSON."""
        return {
            "setting": asdict(self.setting),
            "optimum": self.optimum,
            "uniform": self.uniform,
            "reached_median": self.reached_median(),
            "failed": self.failed(),
            "regret_mean": self.regret_mean(),
            "runs": [asdict(run) for run in self.runs],
        }


def reached_median(reached: Sequence[int | None]) -> float | None:
    """The median number of episodes until good enough; a run that never was counts as infinite."""
    middle = statistics.median(math.inf if episodes is None else episodes for episodes in reached)
    return middle if math.isfinite(middle) else None


def experiment(
    setting: Setting,
    seeds: Sequence[int],
    jobs: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Experiment:
    """Run every seed; ``progress`` is called with the number of episodes played in all."""
    task, _ = prepare(setting, seeds[0])
    workers = max(1, min(jobs or os.cpu_count() or 1, len(seeds)))
    context = multiprocessing.get_context("spawn")
    counter = context.Value("Q", 0)
    with ProcessPoolExecutor(workers, context, _share, (counter,)) as pool:
        futures = [pool.submit(_run, setting, seed) for seed in seeds]
        open_futures = set(futures)
        while open_futures:
            done, open_futures = wait(
                open_futures, timeout=POLL_SECONDS, return_when="FIRST_EXCEPTION"
            )
            progress(counter.value)
            failure = next((f.exception() for f in done if f.exception()), None)
            if failure is not None:
                pool.shutdown(cancel_futures=True)
                raise failure
    runs = [future.result() for future in futures]
    return Experiment(setting, runs, task.optimum(), task.uniform())


def _share(counter: Any) -> None:
    global _played
    _played = counter


def _run(setting: Setting, seed: int) -> Run:
    def count(episodes: int) -> None:
        with _played.get_lock():
            _played.value += episodes

    return run(setting, seed, count)
