"""Experiments: many processes are as good as one, and what is said of all seeds together."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from app.errors import BudgetExceeded, InvalidValue
from app.planning.problem import PlanBudget
from app.simulation.experiment import Experiment, experiment
from app.simulation.runner import Run, Setting, run
from app.simulation.tasks import load_task

SETTING = Setting("riverswim-6", 6, rollouts=50)


def run_of(reached: int | None, values: list[float], regret: float = 0.0) -> Run:
    return Run(0, values, regret, reached, [])


def experiment_of(*reached: int | None) -> Experiment:
    return Experiment(SETTING, [run_of(one, [0.5]) for one in reached], 0.8, 0.1)


class TestProcesses:
    def test_two_give_what_one_gives_and_what_none_gives(self):
        told: list[int] = []
        twice = experiment(SETTING, [3, 4], jobs=2, progress=told.append)
        once = experiment(SETTING, [3, 4], jobs=1)
        here = [run(SETTING, seed) for seed in (3, 4)]
        assert twice.runs == once.runs == here
        assert [one.seed for one in twice.runs] == [3, 4]
        assert told == sorted(told)
        assert told[-1] == 2 * SETTING.episodes
        task = load_task(SETTING.task)
        assert (twice.optimum, twice.uniform) == (task.optimum(), task.uniform())

    def test_an_error_comes_home_as_itself(self):
        """Nothing fits this budget, which only shows when a worker plans."""
        setting = replace(SETTING, budget=PlanBudget(cells=5))
        with pytest.raises(BudgetExceeded) as caught:
            experiment(setting, [0, 1], jobs=2)
        with pytest.raises(BudgetExceeded) as expected:
            run(setting, 0)
        assert str(caught.value) == str(expected.value)
        assert caught.value.allowed == 5

    def test_a_wrong_setting_starts_no_process(self):
        told: list[int] = []
        with pytest.raises(InvalidValue, match="task"):
            experiment(replace(SETTING, task="nowhere"), [0], progress=told.append)
        assert not told


class TestTogether:
    @pytest.mark.parametrize(
        ("reached", "median", "failed"),
        [
            ((10,), 10, 0),
            ((10, 20), 15, 0),
            ((30, 10, 20), 20, 0),
            ((10, None, 20), 20, 1),
            ((10, None), None, 1),
            ((None, None, 4), None, 2),
        ],
    )
    def test_a_seed_that_never_got_there_counts_as_infinite(self, reached, median, failed):
        found = experiment_of(*reached)
        assert found.reached_median() == median
        assert found.failed() == failed

    def test_the_regret_is_the_mean(self):
        runs = [run_of(1, [0.5], regret) for regret in (1.0, 2.0, 6.0)]
        assert Experiment(SETTING, runs, 0.8, 0.1).regret_mean() == pytest.approx(3.0)

    @pytest.mark.parametrize("episodes", [1, 7, 60, 61, 500])
    def test_a_curve_averages_stretches_of_episodes(self, episodes):
        values = np.random.default_rng(1).random((3, episodes))
        runs = [run_of(1, row.tolist()) for row in values]
        curve = Experiment(SETTING, runs, 0.8, 0.1).curve("agent")
        assert curve.label == "agent"
        assert len(curve.episodes) == min(episodes, 60)
        assert curve.episodes[-1] == episodes
        first = 0
        for i, last in enumerate(curve.episodes):
            np.testing.assert_allclose(curve.success[:, i], values[:, first:last].mean(axis=1))
            first = last

    def test_levels_are_the_tasks(self):
        levels = experiment_of(1).levels()
        assert (levels.optimum, levels.uniform) == (0.8, 0.1)

    def test_the_summary_is_plain_json(self):
        runs = [Run(4, [0.5, 0.6], 0.5, None, [(1, 0.3)]), Run(5, [0.7, 0.8], 0.1, 2, [(2, 0.75)])]
        summary = json.loads(json.dumps(Experiment(SETTING, runs, 0.8, 0.1).summary()))
        assert summary["setting"]["task"] == "riverswim-6"
        assert summary["setting"]["algorithm"] == {"kind": "thompson"}
        assert (summary["optimum"], summary["uniform"]) == (0.8, 0.1)
        assert (summary["reached_median"], summary["failed"]) == (None, 1)
        assert summary["regret_mean"] == pytest.approx(0.3)
        assert [one["seed"] for one in summary["runs"]] == [4, 5]
        assert summary["runs"][1]["values"] == [0.7, 0.8]
        assert summary["runs"][1]["exploit"] == [[2, 0.75]]
