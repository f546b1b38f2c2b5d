"""The paper's figure from short runs: the record, what is not run twice, and the drawing."""

import json

import numpy as np
import pytest
from PIL import Image

from benchmarks import records
from benchmarks.paper import figure
from benchmarks.paper.drawing import draw, table
from benchmarks.paper.figure import Configuration


@pytest.fixture
def short(monkeypatch, tmp_path):
    """Two gradient steps of each configuration, recorded elsewhere, in this process."""
    cut = {
        name: Configuration(one.options, 2, runs=2, hints=one.hints)
        for name, one in figure.CONFIGURATIONS.items()
    }
    monkeypatch.setattr(figure, "CONFIGURATIONS", cut)
    monkeypatch.setattr(figure, "EVERY", 1)
    monkeypatch.setattr(figure, "FIGURES", tmp_path)
    monkeypatch.setattr(figure, "RECORD", tmp_path / "record.csv.gz")
    monkeypatch.setattr(figure, "PATHS", tmp_path / "paths.json")
    return tmp_path


def test_a_run_starts_from_the_uniform_policy(short):
    rows, paths = figure.run("working", 3)
    assert [row["episode"] for row in rows] == [0, 30, 60]
    assert rows[0]["value"] == pytest.approx(0.0094, abs=5e-4)
    assert [len(one["path"]) for one in paths["trained"]] == [30, 30]
    missed = [1.0 - row["value"] for row in rows]
    assert rows[2]["regret"] == pytest.approx(15 * (missed[0] + 2 * missed[1] + missed[2]))


def test_the_same_seed_gives_the_same_run(short):
    assert figure.run("hints", 3) == figure.run("hints", 3)
    assert figure.run("hints", 3) != figure.run("hints", 4)


def test_the_record_is_kept_and_drawn(short):
    for name in ("literal", "working"):
        figure.keep(name, figure.FIRST_SEED, *figure.run(name, figure.FIRST_SEED))
    record = records.read(figure.RECORD)
    assert records.known(record, "name") == {("literal",), ("working",)}
    assert len(record["value"]) == 6
    about = json.loads((short / "record.json").read_text())
    assert set(about["columns"]) == set(record)
    assert about["versions"][0]["numpy"] == np.__version__
    draw(short / "figure.png", record, figure.sample_paths(), 2)
    with Image.open(short / "figure.png") as picture:
        assert picture.width > 1000
        assert len(picture.convert("L").getcolors()) > 50


def test_the_table_has_means_and_deviations():
    record = {
        "name": np.array(["working"] * 6),
        "seed": np.repeat([0.0, 1.0], 3),
        "step": np.array([0.0, 300.0, 600.0] * 2),
        "value": np.array([0.01, 0.4, 0.9, 0.01, 0.6, 0.9]),
    }
    (line,) = table(record).splitlines()[2:]
    assert line == "| working (the defaults) | 2 | 0.5000 ± 0.1414 | 0.9000 ± 0.0000 |  |  |"


def test_an_empty_record_has_no_rows(short):
    assert records.read(figure.RECORD) == {}
    assert len(table({}).splitlines()) == 2


def test_the_page_says_what_the_record_says():
    page, record = figure.PAGE.read_text(), records.read(figure.RECORD)
    assert figure.with_table(page, table(record)) == page
    assert set(record["name"]) == set(figure.CONFIGURATIONS)
