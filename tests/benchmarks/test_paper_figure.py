"""The paper's figure from short runs: the record, what is not run twice, and the drawing."""

import json

import pytest
from PIL import Image

from benchmarks import paper_figure
from benchmarks.paper_drawing import draw, table
from benchmarks.paper_figure import Configuration


@pytest.fixture
def short(monkeypatch, tmp_path):
    """Two gradient steps of each configuration, recorded elsewhere, in this process."""
    cut = {
        name: Configuration(one.options, 2, runs=2, hints=one.hints)
        for name, one in paper_figure.CONFIGURATIONS.items()
    }
    monkeypatch.setattr(paper_figure, "CONFIGURATIONS", cut)
    monkeypatch.setattr(paper_figure, "EVERY", 1)
    monkeypatch.setattr(paper_figure, "FIGURES", tmp_path)
    monkeypatch.setattr(paper_figure, "RECORD", tmp_path / "record.json")
    return tmp_path


def test_a_run_starts_from_the_uniform_policy(short):
    found = paper_figure.run("working", 3)
    assert len(found["success"]) == 3
    assert found["success"][0] == pytest.approx(0.0094, abs=5e-4)
    assert [len(one["path"]) for one in found["paths"]["trained"]] == [30, 30]


def test_the_same_seed_gives_the_same_run(short):
    assert paper_figure.run("hints", 3) == paper_figure.run("hints", 3)
    assert paper_figure.run("hints", 3) != paper_figure.run("hints", 4)


def test_the_record_is_kept_and_drawn(short):
    record = [paper_figure.run(name, 5) for name in ("literal", "working")]
    paper_figure.write(record)
    again = paper_figure.read()
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
    assert paper_figure.read() == []
    assert len(table([]).splitlines()) == 2


def test_the_page_says_what_the_record_says():
    page, record = paper_figure.PAGE.read_text(), paper_figure.read()
    assert paper_figure.with_table(page, table(record)) == page
    assert {one["name"] for one in record} == set(paper_figure.CONFIGURATIONS)
