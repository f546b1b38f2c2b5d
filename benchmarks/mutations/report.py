"""The table of the page on the paper: how many mutants of each module were noticed, and by whom."""

from __future__ import annotations

from collections import Counter

from benchmarks.mutations.targets import TARGETS
from benchmarks.records import Columns

MARKS = ("<!-- mutations: written by benchmarks.mutations -->\n", "<!-- end of mutations -->\n")

Outcomes = dict[str, str]  # who noticed a mutant, by its key; empty if nobody did


def outcomes(record: Columns) -> Outcomes:
    """The last outcome on record of every mutant."""
    if not record:
        return {}
    names = ("path", "function", "mutant", "noticed_by")
    rows = zip(*(record[name].tolist() for name in names), strict=True)
    return {f"{path}::{owner}: {mutant}": noticed for path, owner, mutant, noticed in rows}


def table(found: Outcomes) -> str:
    """Mutants by module, and by the test file that was the first to notice."""
    lines = ["| module | mutants | noticed | equivalent |", "| --- | --- | --- | --- |"]
    for path in TARGETS:
        own = [bool(noticed) for key, noticed in found.items() if key.startswith(f"{path}::")]
        lines.append(f"| `{path}` | {len(own)} | {sum(own)} | {len(own) - sum(own)} |")
    noticed = sum(map(bool, found.values()))
    lines.append(f"| together | {len(found)} | {noticed} | {len(found) - noticed} |")
    files = Counter(noticed.split("::")[0] for noticed in found.values() if noticed)
    lines += ["", "| first noticed by | mutants |", "| --- | --- |"]
    lines += [f"| {_file(name)} | {count} |" for name, count in files.most_common()]
    return "\n".join([*lines, ""])


def _file(name: str) -> str:
    return f"`{name}`" if name.endswith(".py") else {"time": "tests that did not end"}.get(
        name, "an error at import"
    )  # fmt: skip
