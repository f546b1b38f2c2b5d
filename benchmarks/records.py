"""Records of experiments: a compressed CSV table, and beside it what made it.

`NAME.csv.gz` has one row for each thing that was measured, mostly an episode. `NAME.json` has the
command, the versions and what the columns mean. Runs are appended as they finish, so that a
measurement that was stopped goes on.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = Mapping[str, Any]
Columns = dict[str, NDArray[Any]]  # one array a column; numbers where all cells are, else text

PACKAGES = ("plaudit", "numpy", "scipy", "numba")
DIGITS = 6


def append(path: Path, rows: Iterable[Row]) -> None:
    """Add rows to the table; the first ones name its columns."""
    rows = list(rows)
    if not rows:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    if not path.exists():
        table.writerow(rows[0])
    table.writerows([_cell(value) for value in row.values()] for row in rows)
    with path.open("ab") as file:  # a gzip file may have many members
        file.write(gzip.compress(text.getvalue().encode(), mtime=0))


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value


def read(path: Path) -> Columns:
    """The columns of a table; none if it is not there yet. An empty cell is not a number."""
    if not path.exists():
        return {}
    with gzip.open(path, "rt", newline="") as file:
        heads, *rows = csv.reader(file)
    columns = zip(*rows, strict=True) if rows else [()] * len(heads)
    return {name: _typed(cells) for name, cells in zip(heads, columns, strict=True)}


def _typed(cells: tuple[str, ...]) -> NDArray[Any]:
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array(cells)


def where(record: Columns, **wanted: Any) -> Columns:
    """The rows whose columns have these values."""
    kept = np.ones(len(next(iter(record.values()), ())), dtype=np.bool_)
    for name, value in wanted.items():
        kept &= record[name] == value
    return {name: column[kept] for name, column in record.items()}


def known(record: Columns, *names: str) -> set[tuple[Any, ...]]:
    """The different combinations of the values of some columns."""
    return set(zip(*(record[name].tolist() for name in names), strict=True)) if record else set()


def describe(path: Path, command: str, columns: Mapping[str, str]) -> None:
    """Write what made a table, and what its columns mean, beside it.

    Rows that were appended with other versions add these to the list.
    """
    versions = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    made = json.loads(beside(path).read_text())["versions"] if beside(path).exists() else []
    made += [versions] * (versions not in made)
    about = {"command": command, "versions": made, "columns": dict(columns)}
    beside(path).write_text(json.dumps(about, indent=1) + "\n")


def beside(path: Path) -> Path:
    """The file that says what made a table."""
    return path.with_name(path.name.removesuffix(".csv.gz") + ".json")
