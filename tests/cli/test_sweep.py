"""`plaudit sweep`, as a user meets it."""

import csv

import pytest
from typer.testing import CliRunner

from app.cli.root import app
from app.simulation.tasks import load_task

SWEEP = """
tasks = ["riverswim-6"]
seeds = 2
episodes = 5
first_seed = 3

[agents.uniform]
[agents.timid]
kind = "thompson"
spread = 0.1
"""


def run(folder, text=SWEEP):
    """The exit code, the output, and the rows."""
    (folder / "sweep.toml").write_text(text)
    arguments = ["sweep", str(folder / "sweep.toml"), "--out", str(folder / "out"), "--jobs", "1"]
    result = CliRunner().invoke(app, arguments)
    rows = []
    if (folder / "out/episodes.csv").exists():
        with (folder / "out/episodes.csv").open() as file:
            rows = list(csv.DictReader(file))
    return result, rows


def test_one_row_an_episode(tmp_path):
    result, rows = run(tmp_path)
    assert result.exit_code == 0, result.output
    assert len(rows) == 2 * 2 * 5
    assert {(row["agent"], row["seed"]) for row in rows} == {
        (agent, seed) for agent in ("uniform", "timid") for seed in ("3", "4")
    }
    task = load_task("riverswim-6")
    for row in rows:
        if row["agent"] == "uniform":
            assert float(row["value"]) == pytest.approx(task.uniform(), rel=1e-4)
            regret = (int(row["episode"]) + 1) * (task.optimum() - task.uniform())
            assert float(row["regret"]) == pytest.approx(regret, rel=1e-4)
    assert (tmp_path / "out/riverswim-6.png").stat().st_size > 10_000


def test_it_continues_where_it_stopped(tmp_path, monkeypatch):
    _, rows = run(tmp_path)
    monkeypatch.setattr("app.simulation.experiment.experiment", lambda *_: pytest.fail("ran again"))
    result, again = run(tmp_path)
    assert result.exit_code == 0, result.output
    assert again == rows


def test_a_changed_cell_runs_again(tmp_path):
    run(tmp_path)
    _, rows = run(tmp_path, SWEEP.replace("episodes = 5", "episodes = 6"))
    assert len(rows) == 2 * 2 * 6


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("riverswim-6", "nowhere"), "task: expected one of"),
        (("seeds = 2", "seeds = 0"), "seeds: expected a whole number from 1 on"),
        (("seeds = 2", "sedes = 2"), "sedes: expected one of"),
        (("spread = 0.1", "speed = 1"), "unknown option 'speed'"),
        (('kind = "thompson"', 'kind = "magic"'), "algorithm.kind: expected one of"),
        (('tasks = ["riverswim-6"]', "tasks = []"), "tasks: expected a list of tasks"),
        (("episodes = 5", "episodes ="), "sweep: expected TOML"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(tmp_path, change, says):
    result, rows = run(tmp_path, SWEEP.replace(*change))
    assert says in str(result.exception)
    assert rows == []
