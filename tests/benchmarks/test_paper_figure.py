"""The paper's figure from short runs: the record, what is not run twice, and the drawing."""

import json

import pytest
from PIL import Image

from benchmarks import paper_figure
from benchmarks.paper_drawing import draw, numbers
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


def test_numbers_are_means_and_deviations():
    record = [
        {"name": "working", "seed": seed, "every": 300, "success": [0.01, 0.5 + shift, 0.9]}
        for seed, shift in enumerate((-0.1, 0.1))
    ]
    lines = numbers(record)
    assert lines[1] == "working at 300: 0.5000 +- 0.1414, least 0.4000, 2 runs"
    assert len(lines) == 3


def test_an_empty_record_has_no_numbers(short):
    assert paper_figure.read() == []
    assert numbers([]) == []
