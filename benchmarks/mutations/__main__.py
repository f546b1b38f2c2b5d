"""Break each constant and operator of the paper's formulas, and report which test notices.

    python -m benchmarks.mutations [--only PART,PART] [--most-seconds 4] [--again] [--list]

A mutant is one change of one module: a constant half as large again (whole numbers one larger), an
operator or comparison exchanged, `min` for `max`, `sqrt` left out and the like. The tests that run
the changed line are run against it, the fastest first, up to a limit of processor time. A mutant
that no test notices must be equivalent: `equivalent.json` says why. Anything else ends with exit
code 1. Outcomes go to `docs/figures/mutations.csv.gz`. Mutants that a test noticed are not run
again, unless with `--again`, so that a run that was stopped goes on. From the record the table in
`docs/paper.md` is written.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.console import Console

from benchmarks import records
from benchmarks.mutations import runner
from benchmarks.mutations.mutants import Mutant, find_mutants
from benchmarks.mutations.report import MARKS, Outcomes, outcomes, table
from benchmarks.mutations.targets import BREAKS, ROOT, TARGETS, TESTS, reasons

RECORD, PAGE = ROOT / "docs" / "figures" / "mutations.csv.gz", ROOT / "docs" / "paper.md"
COLUMNS = {
    "path": "the module",
    "function": "the function or class; empty for a constant of the module",
    "mutant": "the statement, and the change in brackets",
    "tests": "the tests that run the changed line and were run against it",
    "noticed_by": "the first test that failed; time if the tests did not end; empty if none did",
}
console = Console(highlight=False, soft_wrap=True)


def all_mutants(only: str = "") -> list[Mutant]:
    """The mutants of all targets whose key has one of these parts, separated by commas."""
    found = []
    for path, skipped in TARGETS.items():
        found += find_mutants(path, (ROOT / path).read_text(), skipped)
    return [mutant for mutant in found if any(part in mutant.key for part in only.split(","))]


def measure(mutants: list[Mutant], most_seconds: float) -> None:
    """Run the tests against every mutant, and keep what became of it."""
    files = sorted(str(file) for test in TESTS for file in _files(Path(test)))
    runner.preload([*TARGETS, *files])
    baseline = runner.measure(list(TARGETS), files)
    for number, mutant in enumerate(mutants, start=1):
        outcome = runner.test_mutant(mutant, ROOT, baseline.tests_of(mutant, most_seconds))
        if outcome.noticed_by is None:
            console.print(f"{outcome.tests} tests pass: {mutant.key}", markup=False)
        row = {"path": mutant.path, "function": mutant.owner, "mutant": mutant.name}
        noticed = outcome.noticed_by or ""
        records.append(RECORD, [row | {"tests": outcome.tests, "noticed_by": noticed}])
        if number % 50 == 0:
            console.print(f"{number} of {len(mutants)}")


def _files(test: Path) -> list[Path]:
    return sorted(test.glob("test_*.py")) if test.is_dir() else [test]


def missed_breaks() -> int:
    """The number of gross changes that their own test does not notice."""
    missed = [broken for broken in BREAKS if not runner.test_break(broken, ROOT)]
    for broken in missed:
        console.print(f"{broken.name}: not noticed by {broken.test}", markup=False)
    return len(missed)


def unexplained(found: Outcomes) -> int:
    """The number of survivors without a reason and of reasons without a survivor; names them."""
    survivors = {key for key, noticed in found.items() if not noticed}
    known = set(reasons())
    for key in sorted(survivors - known):
        console.print(f"not noticed: {key}", markup=False)
    for key in sorted(known - survivors):
        console.print(f"reason without a survivor: {key}", markup=False)
    return len(survivors ^ known)


def main() -> int:
    """Run the mutants that are not on record; 1 if one survives without a reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="mutants whose name has one of these parts")
    parser.add_argument("--most-seconds", type=float, default=4.0, help="of tests for a mutant")
    parser.add_argument("--again", action="store_true", help="also those that were noticed before")
    parser.add_argument("--list", action="store_true", help="the mutants, without running any")
    chosen = parser.parse_args()
    mutants = all_mutants(chosen.only)
    if chosen.list:
        for mutant in mutants:
            console.print(mutant.key, markup=False)
        return 0
    os.chdir(ROOT)
    if chosen.again:
        RECORD.unlink(missing_ok=True)
    before = outcomes(records.read(RECORD))
    missing = [one for one in mutants if not before.get(one.key)]
    missing.sort(key=lambda one: one.key in reasons())  # what is not expected to pass comes first
    measure(missing, chosen.most_seconds)
    records.describe(RECORD, "python -m benchmarks.mutations", COLUMNS)
    tidy()
    found = outcomes(records.read(RECORD))
    text = table(found)
    console.print(text)
    PAGE.write_text(with_table(PAGE.read_text(), text))
    unknown = len(all_mutants()) - len(found)
    return int(bool(missed_breaks() + unexplained(found) + unknown))


def tidy() -> None:
    """Keep the last outcome of every mutant that still exists, in the order of the modules."""
    record = records.read(RECORD)
    rows = {
        f"{row[0]}::{row[1]}: {row[2]}": dict(zip(COLUMNS, row, strict=True))
        for row in zip(*(record[name].tolist() for name in COLUMNS), strict=True)
    }
    kept = [rows[one.key] for one in all_mutants() if one.key in rows]
    RECORD.unlink()
    records.append(RECORD, kept)


def with_table(page: str, text: str) -> str:
    """The page with this table between its marks."""
    before, rest = page.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    return before + MARKS[0] + text + MARKS[1] + after


if __name__ == "__main__":
    raise SystemExit(main())
