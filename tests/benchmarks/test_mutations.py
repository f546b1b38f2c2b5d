"""Mutants are what they say, tests run against them, and every reason is for one that exists."""

import ast
from collections import Counter

import numpy as np
import pytest

from benchmarks import records
from benchmarks.mutations import runner
from benchmarks.mutations.__main__ import PAGE, RECORD, all_mutants, with_table
from benchmarks.mutations.mutants import find_mutants, mutated
from benchmarks.mutations.report import outcomes, table
from benchmarks.mutations.targets import BREAKS, ROOT, TARGETS, TESTS, reasons

SOURCE = '''"""A module."""
LIMIT = 0.5


def radius(n: int, scale: float = 2.0) -> float:
    """Not 7 but this."""
    if n <= 0 and not scale:
        raise ValueError("needs 1 + 1")
    return min(scale * math.sqrt(n) - 1, LIMIT)


class Part:
    @property
    def size(self) -> int:
        return -self.count ** 2
'''


def test_every_constant_and_operator_has_a_mutant():
    found = find_mutants("m.py", SOURCE)
    assert [(one.owner, one.change) for one in found] == [
        ("", "0.5 -> 0.75"),
        ("radius", "2 -> 3"),
        ("radius", "and -> or"),
        ("radius", "<= -> <"),
        ("radius", "0 -> 1"),
        ("radius", "not x -> x"),
        ("radius", "min -> max"),
        ("radius", "- -> +"),
        ("radius", "* -> /"),
        ("radius", "sqrt -> fabs"),
        ("radius", "1 -> 2"),
        ("Part.size", "-x -> x"),
        ("Part.size", "** -> *"),
        ("Part.size", "2 -> 3"),
    ]


def test_a_mutant_has_one_change():
    for mutant in find_mutants("m.py", SOURCE):
        changed = ast.unparse(mutated(SOURCE, mutant)).splitlines()
        before = ast.unparse(ast.parse(SOURCE)).splitlines()
        lines = [i for i, pair in enumerate(zip(before, changed, strict=True)) if len({*pair}) > 1]
        assert len(lines) == 1, mutant.key
        compile(mutated(SOURCE, mutant), "m.py", "exec")


def test_functions_may_be_left_out():
    owners = {one.owner for one in find_mutants("m.py", SOURCE, frozenset({"size"}))}
    assert owners == {"", "radius"}


def test_names_are_unique():
    keys = Counter(mutant.key for mutant in all_mutants())
    assert max(keys.values()) == 1


def test_on_record_every_survivor_has_a_reason():
    """The page says what came of the mutants."""
    found = outcomes(records.read(RECORD))
    assert len(found) > 900
    assert {key for key, noticed in found.items() if not noticed} == set(reasons())
    assert all(len(reason) > 20 for reason in reasons().values())
    assert with_table(PAGE.read_text(), table(found)) == PAGE.read_text()


def test_the_last_outcome_of_a_mutant_counts():
    record = {
        "path": np.array(["m.py"] * 3),
        "function": np.array(["f", "", "f"]),
        "mutant": np.array(["x [1 -> 2]", "y [2 -> 3]", "x [1 -> 2]"]),
        "noticed_by": np.array(["", "t.py::a", "t.py::b"]),
    }
    found = {"m.py::f: x [1 -> 2]": "t.py::b", "m.py::: y [2 -> 3]": "t.py::a"}
    assert outcomes(record) == found
    assert outcomes({}) == {}
    assert "| together | 2 | 2 | 0 |" in table(found)


def test_targets_tests_and_breaks_exist():
    assert all((ROOT / path).exists() for path in (*TARGETS, *TESTS))
    for broken in BREAKS:
        assert (ROOT / broken.path).read_text().count(broken.old) == 1
        assert (
            f"def {broken.test.split('::')[-1].split('[')[0]}("
            in (ROOT / broken.test.split("::")[0]).read_text()
        )


CONSTANTS = "tests/learning/paper/test_confidence.py"


@pytest.mark.parametrize(
    ("owner", "change", "test"),
    [
        ("kappa", "2 -> 3", "test_kappa[0]"),
        ("", "2 -> 3", "test_xi_where_the_formula_has_no_value"),  # UNVISITED
        ("xi", "> -> >=", None),
    ],
)
def test_who_notices(monkeypatch, owner, change, test):
    """A constant in a function, one of the module, and an equivalent mutant."""
    monkeypatch.chdir(ROOT)
    runner.preload([CONSTANTS])
    path = "app/learning/paper/confidence.py"
    mutant = next(one for one in all_mutants(path) if (one.owner, one.change) == (owner, change))
    asked = "test_xi_where_the_formula_has_no_value" if test is None else test
    outcome = runner.test_mutant(mutant, ROOT, [f"{CONSTANTS}::{asked}"])
    assert outcome.noticed_by == (test and f"{CONSTANTS}::{test}")


def test_a_break_is_noticed_by_its_own_test(monkeypatch):
    monkeypatch.chdir(ROOT)
    broken = BREAKS[0]
    runner.preload([broken.test.split("::")[0]])
    assert runner.test_break(broken, ROOT)
