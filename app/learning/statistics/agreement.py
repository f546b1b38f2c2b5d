"""How labellers do: how many verdicts, how fast, how they agree, and what the model doubts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median
from typing import Any

PAUSE_SECONDS = 600.0  # who gives no verdict for so long was not judging
CONFIDENT = 0.9  # a model that predicts more than this, or less than the rest, is sure


@dataclass(frozen=True)
class Labeller:
    """One labeller; ``name`` is None where verdicts came without one."""

    name: str | None
    verdicts: int
    good: int
    withdrawn: int
    seconds: float | None  # median between a verdict and the next, without pauses
    last: int  # milliseconds


@dataclass(frozen=True)
class Agreement:
    """Two labellers on the episodes that both judged."""

    one: str
    other: str
    shared: int
    same: int
    kappa: float | None  # Cohen's: agreement beyond chance; None where chance alone explains all


def labellers(rows: Iterable[Any]) -> list[Labeller]:
    """Everybody, from rows of the history in order; who gave most first."""
    by_name: dict[str | None, list[Any]] = defaultdict(list)
    for row in rows:
        by_name[row.labeller].append(row)
    found = [_labeller(name, own) for name, own in by_name.items()]
    return sorted(found, key=lambda one: (-one.verdicts, one.name or ""))


def _labeller(name: str | None, rows: list[Any]) -> Labeller:
    given = [row for row in rows if row.label is not None]
    gaps = [(b.at - a.at) / 1000 for a, b in pairwise(given)]
    working = [gap for gap in gaps if 0 < gap <= PAUSE_SECONDS]
    return Labeller(
        name,
        len(given),
        sum(row.label for row in given),
        len(rows) - len(given),
        median(working) if working else None,
        rows[-1].at,
    )


def agreements(rows: Iterable[Any]) -> list[Agreement]:
    """Every two named labellers who judged the same episodes, by each one's last verdict.

    A withdrawal does not undo that somebody judged so; only a newer verdict does.
    """
    judged: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for row in rows:
        if row.label is not None and row.labeller is not None:
            judged[row.agent, row.episode][row.labeller] = row.label
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for verdicts in judged.values():
        for one, other in combinations(sorted(verdicts), 2):
            pairs[one, other].append((verdicts[one], verdicts[other]))
    found = [_agreement(one, other, both) for (one, other), both in pairs.items()]
    return sorted(found, key=lambda pair: (-pair.shared, pair.one, pair.other))


def _agreement(one: str, other: str, both: Sequence[tuple[int, int]]) -> Agreement:
    same = sum(a == b for a, b in both)
    return Agreement(one, other, len(both), same, kappa(both))


def kappa(both: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa of pairs of verdicts."""
    n = len(both)
    first, second = sum(a for a, _ in both) / n, sum(b for _, b in both) / n
    chance = first * second + (1 - first) * (1 - second)
    if chance >= 1:
        return None
    return (sum(a == b for a, b in both) / n - chance) / (1 - chance)


def contradicts(predicted: float, label: int) -> bool:
    """Whether a verdict is the opposite of what a model is sure of."""
    return predicted < 1 - CONFIDENT if label else predicted > CONFIDENT
