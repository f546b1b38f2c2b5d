"""The figures of the paper's theory from short runs: records, drawings, and the page."""

import json
import math
import sys

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binom

import benchmarks.paper.__main__ as paper
from app.learning.features.table import Table
from app.learning.paper.regret_bounds import optimism_regret
from benchmarks import records
from benchmarks.exact import plan_exact
from benchmarks.paper import algorithm_3, coverage, planners, regret
from benchmarks.paper.plots import says_something, worst
from benchmarks.paper.regret import CONTENDERS, WORLDS, make_contender, play
from benchmarks.paper.tables import TABLES


class TestRegret:
    def test_acting_uniformly_loses_the_same_in_every_episode(self):
        run = play("corridor", "uniform", seed=3, episodes=20)
        lost = [row["regret"] / row["episode"] for row in run]
        assert lost == pytest.approx(np.full(20, lost[0]), rel=1e-9)
        assert 0.2 < lost[0] < 0.6

    @pytest.mark.parametrize("name", sorted(CONTENDERS))
    def test_every_kind_plays_and_repeats(self, name):
        run = play("signs", name, seed=3, episodes=12)
        assert run == play("signs", name, seed=3, episodes=12)
        assert [row["episode"] for row in run] == list(range(1, 13))
        assert set(run[0]) == set(regret.COLUMNS)
        optimum = plan_exact(regret.signs().problem()).value
        lacks = np.cumsum([optimum - row["value"] for row in run])
        assert [row["regret"] for row in run] == pytest.approx(lacks)
        assert (np.diff([0.0, *lacks]) >= -1e-9).all()
        assert {row["label"] for row in run} <= {0, 1, None}

    @pytest.mark.parametrize("world", sorted(WORLDS))
    def test_the_runs_and_the_bounds_have_the_same_delta(self, world):
        known = WORLDS[world]()
        agent = make_contender(known, dict(CONTENDERS["exact paper"].algorithm), 1, 500)
        assert agent.regret_bound(500.0) == optimism_regret(known.theory, 500.0)

    def test_the_optimum_of_the_corridor_by_walking_on(self):
        """Going right at every step, by hand: the best that can be done there."""
        known = regret.corridor()
        total, chances = 0.0, {(0, known.weights[0]): 1.0}
        for step in range(5):
            after = {}
            for (place, logit), chance in chances.items():
                if step == 4:
                    total += chance / (1.0 + math.exp(-logit))
                    continue
                for move, share in ((1, 0.9), (-1, 0.1)):
                    at = min(max(place + move, 0), 3)
                    key = (at, logit + known.weights[at])
                    after[key] = after.get(key, 0.0) + chance * share
            chances = after
        assert plan_exact(known.problem()).value == pytest.approx(total)

    @pytest.mark.parametrize("world", sorted(WORLDS))
    def test_no_trajectory_is_longer_than_1_and_the_weights_are_within_their_bound(self, world):
        known = WORLDS[world]()
        H, S, A = known.spaces.shape
        steps = known.world.values.reshape(H, S * A, -1) / known.scale
        sums = np.zeros((1, steps.shape[-1]))
        for step in steps:  # every trajectory, whatever follows what
            sums = np.unique(
                (sums[:, None] + np.unique(step, axis=0)).reshape(-1, sums.shape[1]), axis=0
            )
        assert np.linalg.norm(sums, axis=1).max() == pytest.approx(1.0)
        assert np.linalg.norm(known.weights * known.scale) <= known.bound + 1e-12

    def test_where_the_bounds_say_something(self):
        first, second = says_something(regret.signs())
        assert 1e18 < first < 1e21 < 1e37 < second < 1e40


class TestCoverage:
    def test_the_trajectories_are_all_there_and_of_norm_1(self):
        phi = coverage.trajectories()
        assert phi.shape == (16, 8)
        assert len(np.unique(phi, axis=0)) == 16
        assert np.linalg.norm(phi, axis=1) == pytest.approx(1.0)

    def test_the_event_holds(self):
        """On a few runs; by the lemma all 20 hold at delta = 0.01 with probability 0.8 at least."""
        rows = [row for seed in range(20) for row in coverage.measure(seed)]
        columns = {name: np.array([row[name] for row in rows]) for name in coverage.COLUMNS}
        largest = coverage.largest(columns)
        assert largest.shape == (20, 5)
        assert (largest < 1.0).all()
        assert (largest > 1e-6).all()
        assert (np.diff(largest, axis=1) < 0).all()  # a smaller delta has a larger radius

    @pytest.mark.parametrize(("successes", "runs"), [(0, 10), (3, 10), (1000, 1000)])
    def test_the_interval_by_its_definition(self, successes, runs):
        """Its ends are where the tail of the binomial law has probability 1/40."""
        low, high = coverage.interval(successes, runs)
        if successes:
            assert binom.sf(successes - 1, runs, low) == pytest.approx(0.025)
        if successes < runs:
            assert binom.cdf(successes, runs, high) == pytest.approx(0.025)
        assert 0.0 <= low <= successes / runs <= high <= 1.0


class TestPlanners:
    @pytest.mark.parametrize("space", ["logit", "reward"])
    def test_a_loss_is_within_its_certificate(self, monkeypatch, space):
        monkeypatch.setattr(planners, "ACCURACIES", (32.0, 0.1, 0.01))
        rows = planners.measure(space, 1)
        assert {row["planner"] for row in rows} == set(planners.PLANNERS[space])
        assert all(-1e-9 <= row["loss"] <= row["gap"] + 1e-9 for row in rows)
        assert all(row["gap"] <= max(row["epsilon"], 1e-9) for row in rows)

    def test_no_loss_in_the_record_is_above_its_certificate(self):
        record = records.read(paper.FIGURES / "planners.csv.gz")
        assert (record["loss"] <= record["gap"] + 1e-9).all()

    def test_an_accuracy_that_some_problem_cannot_afford_is_left_out(self):
        row = {"space": "logit", "planner": "paper", "loss": 0.0, "gap": 1.0, "cells": 5}
        rows = [row | {"seed": 1, "epsilon": e} for e in (4.0, 2.0)]
        rows.append(row | {"seed": 2, "epsilon": 4.0, "loss": 0.5})
        record = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        epsilon, loss, _, _ = worst(record, "logit", "paper")
        assert (epsilon.tolist(), loss.tolist()) == ([4.0], [0.5])


class TestAlgorithm3:
    @pytest.mark.parametrize("name", sorted(algorithm_3.EPISODES))
    def test_the_assumptions_hold(self, name):
        """Steps are orthogonal, norms at most 1, and every direction is reached to omega."""
        known = algorithm_3.world(name, 1)
        features = Table(known.spaces, known.world.values)
        assert features.has_orthogonal_steps
        assert features.largest_norm() == pytest.approx(known.scale)
        rng = np.random.default_rng(2)
        for _ in range(20):
            direction = rng.normal(size=len(known.weights))
            direction /= np.linalg.norm(direction)
            steps = (known.world.values @ direction).max(axis=2) / known.scale
            assert steps.min(axis=1).sum() >= known.omega - 1e-12

    def test_one_loop_of_one_and_one_episodes_is_exact_in_signs(self):
        """What the small constants rest on: EULER's first plan is the best for its direction."""
        run = list(algorithm_3.play("signs", 5, episodes=12))
        assert [row["phase"] for row in run] == ["euler", "evaluation"] * 3 + ["optimism"] * 6
        agent = algorithm_3.make_agent("signs", 5)
        game = regret.Game(regret.signs(), agent, 5)
        directions = []
        for number in range(6):
            directions.append(agent.exploration.direction)
            game.episode(number, agent.plan(number))
        reached = np.abs(directions[::2]).sum(axis=1) / np.sqrt(3.0)
        assert agent.exploration.reached == pytest.approx(reached)

    def test_the_constants_are_the_papers(self):
        agent = algorithm_3.make_agent("one step", 9000)
        known, delta = algorithm_3.world("one step", 9000), regret.FAILURE / (12 * 40_000)
        assert agent.size.n_euler == math.ceil(
            2 * math.log(2 * 40_000**2 / (delta * known.omega**2)) / known.omega**2
        )
        assert agent.size.n_eval == math.ceil(
            math.log(40_000 / (delta * known.omega**2)) ** 3 / known.omega**4
        )
        assert agent.options.constants == "paper"
        assert agent.size.most_loops == 1

    def test_the_record_says_what_the_page_says(self):
        """The plans hope for the most there is in every episode: labels have taught nothing."""
        record = records.read(paper.FIGURES / "algorithm_3.csv.gz")
        one = records.where(record, world="one step")
        planned = one["optimistic"][~np.isnan(one["optimistic"])]
        assert planned.min() >= 1.0 - algorithm_3.ACCURACY


@pytest.fixture
def short(monkeypatch, tmp_path):
    """A quick run that goes elsewhere."""
    monkeypatch.setattr(paper, "QUICK", tmp_path)
    monkeypatch.setattr(planners, "ACCURACIES", (32.0, 0.1))
    monkeypatch.setattr(coverage, "EPISODES", 5)
    monkeypatch.setattr(sys, "argv", ["paper", "--quick"])
    monkeypatch.setattr(paper, "Size", lambda runs, _=0: SHORT)
    return tmp_path


SHORT = paper.Size(1, 10)


def test_what_was_run_is_kept_drawn_and_not_run_again(short, monkeypatch):
    paper.main()
    found = {name: (short / f"{name}.csv.gz").read_bytes() for name in paper.MEASURES}
    tables = [records.read(short / f"{name}.csv.gz") for name in paper.MEASURES]
    assert [len(next(iter(one.values()))) for one in tables] == [140, 20, 5, 6]
    for name, one in zip(paper.MEASURES, tables, strict=True):
        about = json.loads((short / f"{name}.json").read_text())
        assert set(about["columns"]) == set(one)
        assert name in about["command"]
        assert {"python", "plaudit", "numpy"} <= set(about["versions"][0])
    for name in paper.MEASURES:
        with Image.open(short / f"{name}.png") as picture:
            assert picture.width > 1000
            assert len(picture.convert("L").getcolors()) > 50

    def refuse(*_):
        raise AssertionError("run again")

    monkeypatch.setattr(regret, "play", refuse)
    monkeypatch.setattr(algorithm_3, "play", refuse)
    monkeypatch.setattr(coverage, "measure", refuse)
    monkeypatch.setattr(planners, "measure", refuse)
    for name in paper.MEASURES:
        paper.measure(name, short, SHORT)
    assert {name: (short / f"{name}.csv.gz").read_bytes() for name in paper.MEASURES} == found


@pytest.mark.parametrize("name", sorted(paper.MEASURES))
def test_the_page_says_what_the_record_says(name):
    page, record = paper.PAGE.read_text(), records.read(paper.FIGURES / f"{name}.csv.gz")
    assert paper.with_table(page, name, TABLES[name](record)) == page
    assert f"figures/{name}.png" in page
