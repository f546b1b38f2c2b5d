"""Statistics of labellers: counts, speed, agreement between two, and labels a model doubts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median
from typing import Protocol

PAUSE_SECONDS = 600.0  # a longer time between two labels is a break, not work
_CANNOT_TELL = 2  # the category of such an answer beside the labels 0 and 1
CONFIDENT = 0.9  # a model is sure above this probability, and below 1 minus it


class LabelRecord(Protocol):
    """One answer of the history; without a label it withdraws an earlier one.

    ``cannot_tell`` is an answer without a label.
    """

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
        """0, 1, or None for a withdrawal or an answer of "cannot tell"."""
        ...

    @property
    def cannot_tell(self) -> bool:
        """Whether the labeller answered "cannot tell"."""
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
    """One labeller; ``name`` is None for labels without a name."""

    name: str | None
    verdicts: int
    good: int
    cannot_tell: int
    withdrawn: int
    seconds: float | None  # median time between two answers, without breaks
    last: int  # milliseconds


@dataclass(frozen=True)
class Agreement:
    """Two labellers on the episodes that both labelled."""

    first: str
    second: str
    shared: int
    agreed: int
    kappa: float | None  # Cohen's kappa; None where chance alone explains full agreement


def labellers(records: Iterable[LabelRecord]) -> list[Labeller]:
    """Statistics of each labeller, from records in order; the busiest labeller first."""
    by_name: dict[str | None, list[LabelRecord]] = defaultdict(list)
    for record in records:
        by_name[record.labeller].append(record)
    found = [_labeller(name, records_of) for name, records_of in by_name.items()]
    return sorted(found, key=lambda labeller: (-labeller.verdicts, labeller.name or ""))


def _labeller(name: str | None, records: list[LabelRecord]) -> Labeller:
    labels = [record.label for record in records if record.label is not None]
    times = [record.at for record in records if _answer(record) is not None]
    gaps = [(later - earlier) / 1000 for earlier, later in pairwise(times)]
    working = [gap for gap in gaps if 0 < gap <= PAUSE_SECONDS]
    return Labeller(
        name,
        len(labels),
        sum(labels),
        len(times) - len(labels),
        len(records) - len(times),
        median(working) if working else None,
        records[-1].at,
    )


def _answer(record: LabelRecord) -> int | None:
    """The category of an answer; None for a withdrawal."""
    return _CANNOT_TELL if record.cannot_tell else record.label


def agreements(records: Iterable[LabelRecord]) -> list[Agreement]:
    """The agreement of every two named labellers who labelled the same episodes.

    The last answer of each labeller counts: good, bad or "cannot tell". A withdrawal does not
    replace an answer; only a newer answer does.
    """
    labels: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for record in records:
        answer = _answer(record)
        if answer is not None and record.labeller is not None:
            labels[record.agent, record.episode][record.labeller] = answer
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for by_labeller in labels.values():
        for first, second in combinations(sorted(by_labeller), 2):
            pairs[first, second].append((by_labeller[first], by_labeller[second]))
    found = [_agreement(*names, both) for names, both in pairs.items()]
    return sorted(found, key=lambda pair: (-pair.shared, pair.first, pair.second))


def _agreement(first: str, second: str, both: Sequence[tuple[int, int]]) -> Agreement:
    agreed = sum(a == b for a, b in both)
    return Agreement(first, second, len(both), agreed, kappa(both))


def kappa(both: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa of pairs of answers: agreement beyond chance."""
    n = len(both)
    first, second = Counter(a for a, _ in both), Counter(b for _, b in both)
    chance = sum(first[answer] * second[answer] for answer in first) / n**2
    if chance >= 1:
        return None
    return (sum(a == b for a, b in both) / n - chance) / (1 - chance)


def contradicts(predicted: float, label: int) -> bool:
    """Whether a label is the opposite of what a confident model predicts."""
    return predicted < 1 - CONFIDENT if label else predicted > CONFIDENT
