"""The policy of `smooth`: looks one step ahead on a net of centres and takes the best action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, sqrt
from typing import Any

_FARTHEST = 50.0  # scaled units at which a number is held
_NEARNESS = 1e-3
_PENALTY = 1e-3
_UNIT = 1e-6  # of the gathered logit that the memory counts

Row = list[float]


class Net:
    """Interpolates the values of centres; the memory counts the gathered logit in millionths."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._axes = list(zip(document["centre"], document["unit"], strict=True))
        self._centres: list[Row] = document["centres"]
        self._moves = document["columns"], document["weights"]
        self._ends, self._gains = document["ends"], document["gains"]
        self._factors, self._bonuses = document["factors"], document["bonuses"]
        self._early, self._late = document["early"], document["late"]
        self._offset, self._flag = document["offset"], document["flag"]
        self._low, self._width = document["low"], document["width"]
        self._first, self._horizon = document["first"], document["horizon"]

    def act(
        self,
        step: int,
        state: Sequence[float],
        memory: int | None,
        u: float,
        done: int | None = None,
    ) -> tuple[int, int | None]:
        """The action that is worth most."""
        worth, logit = self._worth(step, state, memory)
        action = worth.index(max(worth)) if done is None else done
        counts = self._first < self._horizon
        return action, round((logit - self._offset) / _UNIT) if counts else None

    def within(
        self, step: int, state: Sequence[float], memory: int | None, allowed: Sequence[int]
    ) -> int:
        """The allowed action that is worth most."""
        worth, _ = self._worth(step, state, memory)
        return max(allowed, key=worth.__getitem__)

    def _worth(self, step: int, state: Sequence[float], memory: int | None) -> tuple[Row, float]:
        """What each action is worth, and the logit once this state has counted."""
        z = [
            min(max((x - centre) / unit, -_FARTHEST), _FARTHEST)
            for x, (centre, unit) in zip(state, self._axes, strict=True)
        ]
        near, shares = _shares(self._centres, z)
        logit = self._offset + _UNIT * (memory or 0)
        if self._first <= step < self._horizon:
            for i, share in zip(near, shares, strict=True):
                logit += share * self._gains[i]
        worth = [0.0] * len(self._ends[0])
        for i, share in zip(near, shares, strict=True):
            for a in range(len(worth) if share > 0.0 else 0):
                value = self._value(step, i, a, logit)
                worth[a] += share * (value * self._factors[i][a] + self._bonuses[i][a])
        return worth, logit

    def _value(self, step: int, i: int, a: int, logit: float) -> float:
        """What action a is worth in centre i before hazard and bonus."""
        value, gain = 0.0, 0.0
        columns, weights = self._moves
        for j, weight in zip(columns[i][a], weights[i][a], strict=True):
            gain += weight * self._gains[j]
            value += weight * self._next(step, j, logit)
        end: float = self._ends[i][a]
        left = max(self._horizon + 1 - max(step + 1, self._first), 0)
        return (1.0 - end) * value + end / (1.0 + exp(-(logit + left * gain + self._flag)))

    def _next(self, step: int, j: int, logit: float) -> float:
        """The value of centre j after this step."""
        turn = min(self._first, self._horizon)
        if step < turn:
            known: float = self._early[step + 1][j]
            return known
        row: Row = self._late[step - turn][j]
        place: float = min(max((logit - self._low) / self._width, 0.0), len(row) - 1.0)
        k = min(int(place), max(len(row) - 2, 0))
        return (1.0 - place + k) * row[k] + (place - k) * row[min(k + 1, len(row) - 1)]


def _shares(centres: Sequence[Row], z: Row) -> tuple[list[int], Row]:
    """The nearest centres and their weights in a local linear regression, none negative."""
    squares = [sum((a - b) ** 2 for a, b in zip(z, c, strict=True)) for c in centres]
    near = sorted(range(len(centres)), key=squares.__getitem__)[: 2 * len(z) + 2]
    far = squares[near[-1]]
    if far == 0.0 or len(near) == 1:
        return near, [1.0 / len(near)] * len(near)
    rows = [[1.0, *((c - x) / sqrt(far) for c, x in zip(centres[i], z, strict=True))] for i in near]
    kernel = [1.0 / (squares[i] / far + _NEARNESS) for i in near]
    column = _first_column(rows, kernel)
    weights = [
        max(k * sum(a * b for a, b in zip(row, column, strict=True)), 0.0)
        for k, row in zip(kernel, rows, strict=True)
    ]
    total = sum(weights)
    return near, [weight / total for weight in weights]


def _first_column(rows: Sequence[Row], kernel: Row) -> Row:
    """The first column of the inverse of the regression's matrix, by elimination."""
    size = len(rows[0])
    system = [
        [sum(k * row[a] * row[b] for k, row in zip(kernel, rows, strict=True)) for b in range(size)]
        + [float(a == 0)]
        for a in range(size)
    ]
    for a in range(1, size):
        system[a][a] += _PENALTY * sum(kernel)
    for a in range(size):
        system[a] = [x / system[a][a] for x in system[a]]
        for b in range(size):
            if b != a:
                factor = system[b][a]
                system[b] = [x - factor * y for x, y in zip(system[b], system[a], strict=True)]
    return [row[-1] for row in system]
