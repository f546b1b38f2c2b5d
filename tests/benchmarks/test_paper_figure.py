"""The paper's figure from short runs: the record, what is not run twice, and the drawing."""

import json

import pytest
from PIL import Image

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
    monkeypatch.setattr(figure, "RECORD", tmp_path / "record.json")
    return tmp_path


def test_a_run_starts_from_the_uniform_policy(short):
    found = figure.run("working", 3)
    assert len(found["success"]) == 3
    assert found["success"][0] == pytest.approx(0.0094, abs=5e-4)
    assert [len(one["path"]) for one in found["paths"]["trained"]] == [30, 30]


def test_the_same_seed_gives_the_same_run(short):
    assert figure.run("hints", 3) == figure.run("hints", 3)
    assert figure.run("hints", 3) != figure.run("hints", 4)


def test_the_record_is_kept_and_drawn(short):
    record = [figure.run(name, 5) for name in ("literal", "working")]
    figure.write(record)
    again = figure.read()
    assert [one["name"] for one in again] == ["working", "literal"]
    assert again == json.loads((short / "record.json").read_text())
    draw(short / "figure.png", again, 2)
    with Image.open(short / "figure.png") as picture:
        assert picture.width > 1000
        assert len(picture.convert("L").getcolors()) > 50


def test_the_table_has_means_and_deviations():
    record = [
        {"name": "working", "seed": seed, "every": 300, "success": [0.01, 0.5 + shift, 0.9]}
        for seed, shift in enumerate((-0.1, 0.1))
    ]
    (line,) = table(record).splitlines()[2:]
    assert line == "| working (the defaults) | 2 | 0.5000 ± 0.1414 | 0.9000 ± 0.0000 |  |  |"


def test_an_empty_record_has_no_rows(short):
    assert figure.read() == []
    assert len(table([]).splitlines()) == 2


def test_the_page_says_what_the_record_says():
    page, record = figure.PAGE.read_text(), figure.read()
    assert figure.with_table(page, table(record)) == page
    assert {one["name"] for one in record} == set(figure.CONFIGURATIONS)
