"""The page docs/numbers.md: what `benchmarks.numbers` measured, kept in a JSON record beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.numbers.tasks import TASKS

ROOT = Path(__file__).parent.parent.parent
RECORD = Path(__file__).parent / "numbers.json"
PAGE = ROOT / "docs" / "numbers.md"

_BEGIN, _END = "<!-- measured -->\n", "<!-- end -->\n"

Row = dict[str, float | int | None]


def load_record() -> dict[str, list[Row]]:
    """The runs measured so far, by task."""
    if not RECORD.exists():
        return {}
    found: dict[str, list[Row]] = json.loads(RECORD.read_text())
    return found


def save_record(record: Mapping[str, Sequence[Row]]) -> None:
    """Keep the runs."""
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


def render_table(record: Mapping[str, Sequence[Row]]) -> str:
    """The table of all measured tasks, in Markdown."""
    head = (
        "| task | seeds | labels, median (worst) | failed | mean after | worst | claim, error "
        "| first success | CPU a label |\n|---|---|---|---|---|---|---|---|---|\n"
    )
    return head + "".join(
        _row(task.name, record[task.name]) for task in TASKS if task.name in record
    )


def update_page(record: Mapping[str, Sequence[Row]]) -> None:
    """Replace the table on the page."""
    before, rest = PAGE.read_text().split(_BEGIN)
    after = rest.split(_END)[1]
    PAGE.write_text(before + _BEGIN + render_table(record) + _END + after)


def _row(name: str, runs: Sequence[Row]) -> str:
    """One line of the table."""
    labels = [run["labels"] for run in runs if run["labels"] is not None]
    firsts = [run["first_success"] for run in runs if run["first_success"] is not None]
    cells = [
        name,
        str(len(runs)),
        f"{np.median(labels):.0f} ({max(labels)})" if labels else "never",
        str(len(runs) - len(labels)),
        _mean(runs, "mean_after", 3),
        _worst(runs),
        f"{_mean(runs, 'claim', 2)}, {_mean(runs, 'claim_error', 2)}",
        f"{np.median(firsts):.0f}" if firsts else "never",
        f"{1000 * float(np.mean([float(run['seconds'] or 0.0) for run in runs])):.0f} ms",
    ]
    return "| " + " | ".join(cells) + " |\n"


def _values(runs: Sequence[Row], key: str) -> list[float]:
    return [float(value) for run in runs if (value := run[key]) is not None]


def _mean(runs: Sequence[Row], key: str, digits: int) -> str:
    values = _values(runs, key)
    return f"{np.mean(values):.{digits}f}" if values else "-"


def _worst(runs: Sequence[Row]) -> str:
    values = _values(runs, "worst")
    return f"{min(values):.2f}" if values else "-"
