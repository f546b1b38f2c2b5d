"""The bytes that an agent holds: all its arrays, each once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from scipy import sparse

from app.service.training.memory import held_bytes


class Slotted:
    __slots__ = ("table",)

    def __init__(self, table):
        self.table = table


@dataclass
class Holder:
    part: object

    @cached_property
    def derived(self):
        return np.zeros(50_000)


@pytest.mark.parametrize(
    "hold",
    [
        lambda table: table,
        lambda table: [table, table],
        lambda table: {"a": (table,), "b": {"c": table}},
        lambda table: Holder(table),
        lambda table: Slotted(table),
        lambda table: Holder(Slotted([table])),
        lambda table: [table[:10], table[::2]],  # views hold the whole array
    ],
)
def test_an_array_is_found_and_counted_once(hold):
    held = hold(np.zeros(100_000))
    assert 800_000 <= held_bytes(held) < 803_000


def test_what_was_computed_later_counts():
    holder = Holder(None)
    before = held_bytes(holder)
    assert len(holder.derived) == 50_000
    assert held_bytes(holder) - before >= 400_000


def test_sparse_matrices_count():
    matrix = sparse.csr_array(np.eye(1000))
    assert held_bytes(matrix) >= matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes


def test_an_object_that_refers_to_itself_is_counted():
    loop = [np.zeros(1000)]
    loop.append(loop)
    assert held_bytes(loop) < 9000
