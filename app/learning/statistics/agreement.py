"""Statistics of labellers: counts, speed, agreement between two, and labels a model doubts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median
from typing import Protocol

PAUSE_SECONDS = 600.0  # a longer time between two labels is a break, not work
CONFIDENT = 0.9  # a model is sure above this probability, and below 1 minus it


class LabelRecord(Protocol):
    """One label of the history; a ``label`` of None withdraws an earlier one."""

    @property
    def agent(self) -> int:
        """The agent's row."""
        ...

    @property
    def episode(self) -> int:
        """The episode's number."""
        ...

    @property
    def label(self) -> int | None:
        """0, 1, or None for a withdrawal."""
        ...

    @property
    def labeller(self) -> str | None:
        """The labeller's name, if one was given."""
        ...

    @property
    def at(self) -> int:
        """The time in milliseconds."""
        ...


@dataclass(frozen=True)
class Labeller:
    """One labeller; ``name`` is None for labels that came without a name."""

    name: str | None
    verdicts: int
    good: int
    withdrawn: int
    seconds: float | None  # median time between two labels, without breaks
    last: int  # milliseconds


@dataclass(frozen=True)
class Agreement:
    """Two labellers on the episodes that both labelled."""

    one: str
    other: str
    shared: int
    same: int
    kappa: float | None  # Cohen's kappa; None where chance alone explains full agreement


def labellers(records: Iterable[LabelRecord]) -> list[Labeller]:
    """Statistics of each labeller, from records in order; the busiest labeller first."""
    by_name: dict[str | None, list[LabelRecord]] = defaultdict(list)
    for record in records:
        by_name[record.labeller].append(record)
    found = [_labeller(name, records_of) for name, records_of in by_name.items()]
    return sorted(found, key=lambda labeller: (-labeller.verdicts, labeller.name or ""))


def _labeller(name: str | None, records: list[LabelRecord]) -> Labeller:
    given = [(record.label, record.at) for record in records if record.label is not None]
    gaps = [(later - earlier) / 1000 for (_, earlier), (_, later) in pairwise(given)]
    working = [gap for gap in gaps if 0 < gap <= PAUSE_SECONDS]
    return Labeller(
        name,
        len(given),
        sum(label for label, _ in given),
        len(records) - len(given),
        median(working) if working else None,
        records[-1].at,
    )


def agreements(records: Iterable[LabelRecord]) -> list[Agreement]:
    """The agreement of every two named labellers who labelled the same episodes.

    The last label of each counts. A withdrawal does not change what a labeller thought; only a
    newer label does.
    """
    labels: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for record in records:
        if record.label is not None and record.labeller is not None:
            labels[record.agent, record.episode][record.labeller] = record.label
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for by_labeller in labels.values():
        for one, other in combinations(sorted(by_labeller), 2):
            pairs[one, other].append((by_labeller[one], by_labeller[other]))
    found = [_agreement(one, other, both) for (one, other), both in pairs.items()]
    return sorted(found, key=lambda pair: (-pair.shared, pair.one, pair.other))


def _agreement(one: str, other: str, both: Sequence[tuple[int, int]]) -> Agreement:
    same = sum(a == b for a, b in both)
    return Agreement(one, other, len(both), same, kappa(both))


def kappa(both: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa of pairs of labels: agreement beyond chance."""
    n = len(both)
    first, second = sum(a for a, _ in both) / n, sum(b for _, b in both) / n
    chance = first * second + (1 - first) * (1 - second)
    if chance >= 1:
        return None
    return (sum(a == b for a, b in both) / n - chance) / (1 - chance)


def contradicts(predicted: float, label: int) -> bool:
    """Whether a label is the opposite of what a confident model predicts."""
    return predicted < 1 - CONFIDENT if label else predicted > CONFIDENT
