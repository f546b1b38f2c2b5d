"""Records of experiments: what is appended is read, and what made it stands beside it."""

import gzip
import json

import numpy as np
import pytest

from benchmarks import records

ROWS = [
    {"world": "a", "seed": 1, "label": 1, "value": 1 / 3},
    {"world": "b", "seed": 2, "label": None, "value": 2e-9},
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.csv.gz"


def test_rows_are_appended_under_one_head(path):
    records.append(path, ROWS[:1])
    records.append(path, ROWS[1:])
    text = gzip.decompress(path.read_bytes()).decode()
    assert text == "world,seed,label,value\na,1,1,0.333333\nb,2,,2e-09\n"


def test_numbers_are_numbers_and_gaps_are_none(path):
    records.append(path, ROWS)
    found = records.read(path)
    assert found["world"].tolist() == ["a", "b"]
    assert found["seed"].tolist() == [1.0, 2.0]
    assert np.isnan(found["label"]).tolist() == [False, True]
    assert records.where(found, world="b", seed=2)["value"].tolist() == [2e-9]
    assert records.known(found, "world", "seed") == {("a", 1), ("b", 2)}


def test_without_a_table_nothing_is_known(path):
    assert records.read(path) == {}
    assert records.known({}, "seed") == set()
    records.append(path, [])
    assert not path.exists()


def test_what_made_it_is_beside_it(path, monkeypatch):
    records.describe(path, "python -m some", {"seed": "of the luck"})
    records.describe(path, "python -m some", {"seed": "of the luck"})
    monkeypatch.setattr(records, "version", lambda name: f"{name}-2")
    records.describe(path, "python -m some", {"seed": "of the luck"})
    about = json.loads((path.parent / "some.json").read_text())
    assert about["command"] == "python -m some"
    assert about["columns"] == {"seed": "of the luck"}
    assert [one["numpy"] for one in about["versions"]] == [np.__version__, "numpy-2"]
