"""The labelled trajectories against a plain multiset, and their refusals."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import InvalidValue, SnapshotError
from app.learning.logistic.labelled import LabelledTrajectories

DIMENSION = 6

Key = tuple[tuple[int, float], ...]


def entries(row: tuple[Any, Any]) -> Key:
    """The row as a sorted tuple of (index, total value) pairs without zeros."""
    total: dict[int, float] = {}
    for index, value in zip(*row, strict=True):
        total[index] = total.get(index, 0.0) + value
    return tuple(sorted((i, v) for i, v in total.items() if v != 0.0))


def contents(data: LabelledTrajectories) -> Counter[tuple[Key, int]]:
    """What ``data`` exports, as a multiset of (row, label) pairs."""
    found: Counter[tuple[Key, int]] = Counter()
    matrix, (counts, positives) = data.design().rows, data.counts()
    for i in range(matrix.shape[0]):
        chosen = slice(matrix.indptr[i], matrix.indptr[i + 1])
        key = entries((matrix.indices[chosen].tolist(), matrix.data[chosen].tolist()))
        found[key, 1] += int(positives[i])
        found[key, 0] += int(counts[i] - positives[i])
    return +found


rows = st.lists(
    st.tuples(st.integers(0, DIMENSION - 1), st.sampled_from([-2.0, 0.0, 1.0, 3.0])), max_size=7
).map(lambda pairs: ([i for i, _ in pairs], [v for _, v in pairs]))
actions = st.lists(
    st.tuples(st.sampled_from(["add", "add", "remove", "look"]), rows, st.integers(0, 1)),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(actions)
def test_it_is_a_multiset(sequence: list[tuple[str, tuple[Any, Any], int]]) -> None:
    data, truth = LabelledTrajectories(DIMENSION), Counter[tuple[Key, int]]()
    for action, row, label in sequence:
        key = (entries(row), label)
        arrays = (np.array(row[0], dtype=np.int64), np.array(row[1]))
        if action == "look":
            data.design()
        elif action == "add":
            data.add(arrays, label)
            truth[key] += 1
        elif truth[key]:
            data.remove(arrays, label)
            truth[key] -= 1
        else:
            with pytest.raises(InvalidValue):
                data.remove(arrays, label)
    truth = +truth
    assert contents(data) == truth
    assert data.labels == truth.total()
    assert data.positives == sum(n for (_, label), n in truth.items() if label)
    assert data.distinct == len({key for key, _ in truth})
    assert contents(LabelledTrajectories.from_arrays(data.arrays())) == truth


def test_a_removed_row_leaves_the_very_same_arrays() -> None:
    rng = np.random.default_rng(3)
    chosen = [(np.sort(rng.choice(40, 5, replace=False)), rng.normal(size=5)) for _ in range(30)]
    without, having = LabelledTrajectories(40), LabelledTrajectories(40)
    for i, row in enumerate(chosen):
        having.add(row, i % 2)
        if i != 11:
            without.add(row, i % 2)
    having.remove(chosen[11], 1)
    expected, found = without.arrays(), having.arrays()
    assert expected.keys() == found.keys()
    for name in expected:
        np.testing.assert_array_equal(expected[name], found[name])


def test_an_export_stays_as_it_was() -> None:
    data = LabelledTrajectories(3)
    data.add(([0, 2], [1.0, 2.0]), 1)
    design, (counts, _) = data.design(), data.counts()
    for i in range(100):
        data.add(([0, 1], [1.0, float(i + 1)]), 0)
    data.add(([0, 2], [1.0, 2.0]), 1)
    data.remove(([0, 1], [1.0, 5.0]), 0)
    data.design()
    np.testing.assert_array_equal(design.rows.toarray(), [[1.0, 0.0, 2.0]])
    np.testing.assert_array_equal(counts, [1.0])


@pytest.mark.parametrize("filled", [1, 2, 8])
def test_the_dense_copy_is_the_same_matrix(filled: int) -> None:
    rng = np.random.default_rng(filled)
    data = LabelledTrajectories(8)
    for i in range(50):
        columns = np.sort(rng.choice(8, filled if i < 30 else 1, replace=False))
        row = (columns, rng.normal(size=len(columns)))
        data.add(row, 1)
        if i % 9 == 4:
            data.remove(row, 1)
        design = data.design()
        assert design.dense is not None or filled < 8 or i > 30
        if design.dense is not None:
            np.testing.assert_array_equal(design.dense, design.rows.toarray())


@pytest.mark.parametrize(
    ("row", "label", "field"),
    [
        (([0, 6], [1.0, 1.0]), 1, "row.indices"),
        (([-1], [1.0]), 1, "row.indices"),
        (([0.5], [1.0]), 1, "row.indices"),
        (([0], [np.nan]), 1, "row.values"),
        (([0], [np.inf]), 1, "row.values"),
        (([0, 1], [1.0]), 1, "row"),
        (([[0]], [[1.0]]), 1, "row"),
        ((["a"], [1.0]), 1, "row.indices"),
        (([0], ["a"]), 1, "row"),
        (3, 1, "row"),
        (([0], [1.0]), 2, "label"),
        (([0], [1.0]), 0.5, "label"),
        (([0], [1.0]), np.nan, "label"),
        (([0], [1.0]), "1", "label"),
        (([0], [1.0]), None, "label"),
        (([0], [1.0]), np.array([0, 1]), "label"),
    ],
)
@pytest.mark.parametrize("method", ["add", "remove"])
def test_a_bad_row_or_label_changes_nothing(method: str, row: Any, label: Any, field: str) -> None:
    data = LabelledTrajectories(DIMENSION)
    data.add(([0], [1.0]), 1)
    before = contents(data)
    with pytest.raises(InvalidValue) as caught:
        getattr(data, method)(row, label)
    assert caught.value.field == field
    assert contents(data) == before
    assert (data.labels, data.positives, data.distinct) == (1, 1, 1)


@pytest.mark.parametrize(
    ("row", "label", "field"), [(([1], [1.0]), 1, "row"), (([0], [1.0]), 0, "label")]
)
def test_what_is_not_there_cannot_be_removed(row: Any, label: int, field: str) -> None:
    data = LabelledTrajectories(DIMENSION)
    data.add(([0], [1.0]), 1)
    with pytest.raises(InvalidValue) as caught:
        data.remove(row, label)
    assert caught.value.field == field
    data.remove(([0], [1.0]), 1)
    with pytest.raises(InvalidValue, match="row"):
        data.remove(([0], [1.0]), 1)
    assert (data.labels, data.distinct) == (0, 0)


@pytest.mark.parametrize("dimension", [0, -1, 2**31])
def test_a_dimension_is_positive(dimension: int) -> None:
    with pytest.raises(InvalidValue, match="dimension"):
        LabelledTrajectories(dimension)


@pytest.mark.parametrize(
    "change",
    [
        {"counts": np.array([0.0, 2.0])},
        {"counts": np.array([1.0])},
        {"positives": np.array([3.0, 0.0])},
        {"counts": np.array([1.5, 2.0])},
        {"indices": np.array([0, 9])},
        {"indices": np.array([0, 0]), "values": np.array([1.0, 1.0])},
        {"values": np.array([1.0, np.nan])},
        {"offsets": np.array([0, 1, 3])},
        {"offsets": np.array([0, 2, 1, 2])},
        {"dimension": np.array(0)},
        {"dimension": None},
    ],
)
def test_broken_arrays_are_not_restored(change: dict[str, Any]) -> None:
    data = LabelledTrajectories(DIMENSION)
    data.add(([0], [1.0]), 1)
    data.add(([1], [1.0]), 0)
    arrays = {k: v for k, v in (data.arrays() | change).items() if v is not None}
    with pytest.raises(SnapshotError):
        LabelledTrajectories.from_arrays(arrays)
