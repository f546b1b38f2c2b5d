"""The page on the paper names files and tests that exist, and leaves nothing of the paper out."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "paper.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.split("## What was measured")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| in the paper")
]
TESTS = sorted(set(re.findall(r"`(tests/[^`]*)`", PAGE)))
FILES = sorted(set(re.findall(r"`((?:app|benchmarks|docs)/[^`*]*)`", PAGE)))

# What is numbered in the paper: assumptions, algorithms and so on, each in a row of its own.
NUMBERED = {
    "Assumption": 4, "Algorithm": 3, "Theorem": 3, "Definition": 4, "Lemma": 15, "Corollary": 1,
    "Proposition": 1,
}  # fmt: skip


def test_everything_that_has_a_number_in_the_paper_has_a_row():
    kinds = [re.match(r"\*\*(\w+)\*\*: ", row[0]) for row in ROWS]
    assert Counter(kind[1] for kind in kinds if kind) == NUMBERED
    assert len({row[0] for row in ROWS}) == len(ROWS)


def test_every_row_has_a_file_and_a_test():
    for _, files, tests in ROWS:
        assert re.search(r"`(app|benchmarks)/", files)
        assert re.search(r"`tests/", tests)


@pytest.mark.parametrize("name", FILES)
def test_files_exist(name):
    assert (ROOT / name).is_file()


@pytest.mark.parametrize("name", TESTS)
def test_tests_exist(name):
    path, *inner = name.split("::")
    if not inner:  # the table of mutations names whole files
        assert (ROOT / path).is_file()
        return
    body = ast.parse((ROOT / path).read_text()).body
    for part in inner:
        (found,) = (node for node in body if getattr(node, "name", None) == part)
        body = getattr(found, "body", [])
    assert inner[-1].startswith("test_")
