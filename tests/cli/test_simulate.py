"""`plaudit simulate`, as a user meets it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from app.agents import AGENT_KINDS
from app.cli.root import app
from app.simulation import experiment
from app.simulation.tasks import load_task, task_names

COMMAND = Path(sys.executable).with_name("plaudit")
COUNTING = sorted(name for name, kind in AGENT_KINDS.items() if not kind.observes)


@pytest.mark.usefixtures("wide")
def test_its_help_lists_tasks_and_kinds():
    result = CliRunner().invoke(app, ["simulate", "--help"])
    assert result.exit_code == 0
    for name in (*task_names(), *COUNTING):
        assert name in result.output


class TestRefusals:
    """One line that names what is wrong, exit code 2, and nothing written."""

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["nowhere"], "task: expected one of"),
            (["[/red]"], "got '[/red]'"),
            (["[bold]lake"], "got '[bold]lake'"),
            (["riverswim-6", "--agent", "magic"], "algorithm.kind: expected one of 'reinforce', "),
            (["riverswim-6", "--agent", "reinforce"], "states: expected numbers without bins"),
            (["riverswim-6", "--options", "{"], "options: expected JSON"),
            (["riverswim-6", "--options", "[1]"], "options: expected a JSON object"),
            (
                ["riverswim-6", "--options", '{"speed": 9}'],
                "algorithm.speed: unknown option 'speed'. Options of",
            ),
            (["riverswim-6", "--options", '{"draws": 0}'], "algorithm.draws: expected"),
            (["riverswim-6", "--features", "everything"], "features: expected JSON"),
            (["riverswim-6", "--features", '{"kind": "magic"}'], "features.kind: expected one of"),
            (
                ["riverswim-6", "--features", '{"kind": "one_hot", "over": ["place"]}'],
                "features.over.0: expected 'step', 'state' or 'action'",
            ),
            (
                ["riverswim-6", "--features", '{"kind": "table", "values": [[[1]]]}'],
                "features.values: expected shape (6, 2, d) or (20, 6, 2, d), got (1, 1, 1)",
            ),
            (["riverswim-6", "--agent", "ucbvi", "--features", "auto"], "features.kind: expected"),
        ],
    )
    def test_what_the_user_got_wrong(self, plaudit, tmp_path, arguments, says):
        code, output, errors = plaudit("simulate", *arguments)
        assert code == 2
        assert errors.startswith("error ")
        assert errors.count("\n") == 1
        assert says in errors
        assert not output
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("--seeds", "0"),
            ("--episodes", "0"),
            ("--episodes", "many"),
            ("--flips", "1.5"),
            ("--delay", "-1"),
            ("--parallel", "0"),
            ("--jobs", "0"),
            ("--first-seed", "-1"),
        ],
    )
    @pytest.mark.usefixtures("wide")
    def test_numbers_out_of_range(self, plaudit, tmp_path, option, value):
        code, _, errors = plaudit("simulate", "riverswim-6", option, value)
        assert code == 2
        assert option in errors
        assert "Traceback" not in errors
        assert not list(tmp_path.iterdir())

    @pytest.mark.usefixtures("wide")
    def test_a_file_in_the_place_of_the_output(self, plaudit, tmp_path):
        """Said before anything is played, not when the results should be written."""
        (tmp_path / "taken").write_text("mine")
        code, _, errors = plaudit("simulate", "riverswim-6", "--out", "taken")
        assert code == 2
        assert "--out" in errors
        assert (tmp_path / "taken").read_text() == "mine"

    def test_a_bad_setting_in_the_environment(self, plaudit, tmp_path, monkeypatch):
        monkeypatch.setenv("PLAUDIT_PLAN_BYTES", "-5")
        code, output, errors = plaudit("simulate", "riverswim-6")
        assert code == 2
        assert errors == "error PLAUDIT_PLAN_BYTES: expected greater than 0\n"
        assert not output
        assert not list(tmp_path.iterdir())

    def test_a_budget_from_the_environment_is_kept(self, plaudit, monkeypatch):
        monkeypatch.setenv("PLAUDIT_PLAN_CELLS", "5")
        code, _, errors = plaudit(
            "simulate", "riverswim-6", "--seeds", "1", "--episodes", "2", "--jobs", "1"
        )
        assert code == 2
        last = errors.splitlines()[-1]
        assert last.startswith("error grid points of one plan: needs ")
        assert last.endswith("or raise algorithm.epsilon")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """One real run of the installed command."""
    out = tmp_path_factory.mktemp("simulated") / "new" / "[out]"
    arguments = ["simulate", "riverswim-6", "--seeds", "2", "--episodes", "12"]
    result = subprocess.run(
        [COMMAND, *arguments, "--first-seed", "3", "--jobs", "1", "--out", str(out)],
        capture_output=True, text=True, timeout=300, cwd=out.parent.parent,
    )  # fmt: skip
    return out, result


class TestSimulate:
    def test_it_succeeds(self, simulated):
        _, result = simulated
        assert result.returncode == 0, result.stderr
        assert "Traceback" not in result.stderr

    def test_it_shows_the_curve_and_says_what_it_wrote(self, simulated):
        out, result = simulated
        assert "thompson on riverswim-6" in result.stdout
        assert f"best possible {load_task('riverswim-6').optimum():.3f}" in result.stdout
        assert "90 % of the best possible" in result.stdout
        last = result.stdout.splitlines()[-1]
        files = [out / f"riverswim-6-thompson.{kind}" for kind in ("png", "json")]
        assert last == f"wrote {files[0]} and {files[1]}"
        assert sorted(out.iterdir()) == sorted(files)

    def test_the_picture_is_one(self, simulated):
        out, _ = simulated
        with Image.open(out / "riverswim-6-thompson.png") as picture:
            picture.load()
            assert picture.format == "PNG"
            width, height = picture.size
            pixels = np.asarray(picture.convert("L"))
        assert 800 <= width <= 3000
        assert 400 <= height <= 2000
        assert 0.005 < (pixels < 200).mean() < 0.5  # drawn upon, and mostly paper

    def test_the_numbers_are_those_of_the_runs(self, simulated):
        out, _ = simulated
        summary = json.loads((out / "riverswim-6-thompson.json").read_text())
        assert summary.keys() == {
            "setting", "optimum", "uniform", "reached_median", "failed", "regret_mean", "runs",
        }  # fmt: skip
        setting = summary["setting"]
        assert (setting["task"], setting["episodes"]) == ("riverswim-6", 12)
        assert setting["algorithm"] == {"kind": "thompson"}
        assert setting["budget"] == {"cells": 5e7, "bytes": 2e9}
        task = load_task("riverswim-6")
        assert summary["optimum"] == pytest.approx(task.optimum())
        assert summary["uniform"] == pytest.approx(task.uniform())
        assert [one["seed"] for one in summary["runs"]] == [3, 4]
        for one in summary["runs"]:
            assert one.keys() == {"seed", "values", "regret", "reached", "exploit", "labels"}
            assert len(one["values"]) == 12
            assert all(0.0 <= value <= 1.0 for value in one["values"])
            assert one["regret"] == pytest.approx(12 * task.optimum() - math.fsum(one["values"]))
        regrets = [one["regret"] for one in summary["runs"]]
        assert summary["regret_mean"] == pytest.approx(np.mean(regrets))
        assert summary["failed"] == sum(one["reached"] is None for one in summary["runs"])


@pytest.fixture
def settings(monkeypatch):
    """The settings, seeds and jobs of experiments that are stopped before they begin."""
    seen = []

    def stop(setting, seeds, jobs, progress):
        seen.append((setting, list(seeds), jobs))
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment, "experiment", stop)
    return seen


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("suggested", None),
        ("auto", {"kind": "auto"}),
        ("full", {"kind": "one_hot", "over": ["step", "state", "action"]}),
        ('{"kind": "one_hot", "over": ["state"]}', {"kind": "one_hot", "over": ["state"]}),
    ],
)
def test_features_and_options_reach_the_agents(settings, tmp_path, text, features):
    """What a user types is the setting that is run."""
    arguments = ["simulate", "random-0", "--features", text, "--options", '{"draws": 3}']
    arguments += ["--parallel", "4", "--delay", "2", "--flips", "0.25", "--episodes", "7"]
    arguments += ["--seeds", "3", "--first-seed", "5", "--jobs", "2", "--out", str(tmp_path)]
    CliRunner().invoke(app, arguments)
    ((setting, seeds, jobs),) = settings
    assert setting.features == features
    assert setting.algorithm == {"kind": "thompson", "draws": 3}
    assert (setting.parallel, setting.delay, setting.flips) == (4, 2, 0.25)
    assert (setting.task, setting.episodes) == ("random-0", 7)
    assert (seeds, jobs) == ([5, 6, 7], 2)


@pytest.mark.parametrize("kind", COUNTING)
@pytest.mark.parametrize("other", [*sorted(AGENT_KINDS), "magic"])
def test_the_kind_is_what_agent_says(settings, tmp_path, kind, other):
    """The files are named after it, so that options must not change it."""
    options = json.dumps({"kind": other})
    arguments = ["simulate", "corridor", "--agent", kind, "--options", options]
    arguments += ["--features", "full"]  # which every kind takes
    CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])
    ((setting, _, _),) = settings
    assert setting.algorithm == {"kind": kind}
