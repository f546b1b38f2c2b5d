"""The policy of `smooth`: it looks one step ahead on a net of centres and takes the best action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidValue
from app.learning.arrays import Arrays, Floats
from app.learning.continuous.interpolation import local_weights, nearest
from app.planning.net.problem import NetProblem, NetValues

_UNIT = 1e-6  # of the logit that the memory holds as an integer
_FARTHEST = 50.0  # units of z; an observation farther out is held there

Narrow = NDArray[np.float32]
_SCALARS = ("offset", "flag", "low", "width")
_NUMBERS = ("first", "horizon")


class _Span(NamedTuple):
    """Which states count, and where the grid of logits lies."""

    first: int
    horizon: int
    flag: float
    low: float
    width: float


class _Net(NamedTuple):
    """The arrays that a step reads."""

    centres: Floats
    columns: NDArray[np.int16]
    weights: Narrow
    ends: Narrow
    gains: Narrow
    factors: Narrow
    bonuses: Narrow
    early: Narrow
    late: Narrow


@dataclass(frozen=True, eq=False)
class NetPolicy:
    """Interpolates the values of a net; it remembers the logit gathered so far, if any counts.

    docs/policy.md has the steps in words. K centres, A actions, m successors, G grid points.
    """

    kind: ClassVar[str] = "net"

    centre: Floats  # (d,): z = (x - centre) / unit
    unit: Floats  # (d,)
    centres: Floats  # (K, d), in z
    columns: NDArray[np.int16]  # (K, A, m)
    weights: Narrow  # (K, A, m)
    ends: Narrow  # (K, A)
    gains: Narrow  # (K,)
    factors: Narrow  # (K, A)
    bonuses: Narrow  # (K, A)
    early: Narrow  # (min(first, H) + 1, K)
    late: Narrow  # (H - min(first, H), K, G)
    offset: float
    flag: float
    low: float
    width: float
    first: int
    horizon: int

    @classmethod
    def of(
        cls, centre: Floats, unit: Floats, centres: Floats, problem: NetProblem, values: NetValues
    ) -> NetPolicy:
        """The policy of a solved problem."""
        model, narrow = problem.model, np.float32
        return cls(
            centre,
            unit,
            np.ascontiguousarray(centres),
            model.columns.astype(np.int16),
            model.weights.astype(narrow),
            model.ends.astype(narrow),
            problem.gains.astype(narrow),
            problem.factors.astype(narrow),
            problem.bonuses.astype(narrow),
            values.early,
            values.late,
            problem.offset,
            problem.flag,
            values.low,
            values.width,
            problem.first,
            problem.horizon,
        )

    def act(
        self,
        step: int,
        state: float | Sequence[float],
        memory: tuple[int, ...],
        uniform: float,  # noqa: ARG002 - every policy takes it
    ) -> tuple[int, tuple[int, ...]]:
        """The best action in ``state``, the numbers seen (one number may come bare)."""
        qualities, logit = self.qualities(step, state, memory)
        action = int(qualities.argmax())
        if self.first >= self.horizon:
            return action, ()
        return action, (round((logit - self.offset) / _UNIT),)

    def follow(
        self,
        step: int,
        state: float | Sequence[float],
        memory: tuple[int, ...],
        uniform: float,
        action: int,  # noqa: ARG002 - the states alone are remembered
    ) -> tuple[int, ...]:
        """The memory after any action in ``state``."""
        return self.act(step, state, memory, uniform)[1]

    def branches(
        self, step: int, state: float | Sequence[float], memory: tuple[int, ...]
    ) -> list[tuple[float, int, tuple[int, ...]]]:
        """The one action that it takes."""
        return [(1.0, *self.act(step, state, memory, 0.0))]

    def qualities(
        self, step: int, state: float | Sequence[float], memory: tuple[int, ...]
    ) -> tuple[Floats, float]:
        """What each action is worth, shape (A,), and the logit once this state has counted."""
        seen = np.array(state, dtype=np.float64).reshape(-1)
        if len(seen) != len(self.centre):
            raise InvalidValue("state", f"{len(self.centre)} numbers")
        z = (seen - self.centre) / self.unit
        qualities = np.empty(self.ends.shape[1])
        logit = self.offset + _UNIT * (memory[0] if memory else 0)
        return qualities, float(_look_ahead(step, z, logit, self._span, self._net, qualities))

    @cached_property
    def _span(self) -> _Span:
        return _Span(self.first, self.horizon, self.flag, self.low, self.width)

    @cached_property
    def _net(self) -> _Net:
        return _Net(*(getattr(self, name) for name in _Net._fields))

    def arrays(self) -> Arrays:
        """Everything the policy knows, by the names of its fields."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> NetPolicy:
        """The policy that ``arrays`` came from."""
        found: dict[str, Any] = {field.name: arrays[field.name] for field in fields(cls)}
        found |= {name: float(arrays[name]) for name in _SCALARS}
        return cls(**found | {name: int(arrays[name]) for name in _NUMBERS})


@numba.njit(cache=True, error_model="numpy")
def _look_ahead(
    step: int, z: Floats, logit: float, span: _Span, net: _Net, qualities: Floats
) -> float:
    """Fill the qualities of all actions; returns the logit once this state has counted."""
    for i in range(len(z)):
        z[i] = min(max(z[i], -_FARTHEST), _FARTHEST)
    count = min(2 * len(z) + 2, len(net.centres))
    near, distances, shares = np.empty(count, np.int64), np.empty(count), np.empty(count)
    nearest(z, net.centres, near, distances)
    local_weights(z, net.centres, near, distances, shares)
    if span.first <= step < span.horizon:
        for n in range(count):
            logit += shares[n] * net.gains[near[n]]
    qualities[:] = 0.0
    for n in range(count):
        if shares[n] > 0.0:
            for a in range(len(qualities)):
                value = _value(step, near[n], a, logit, span, net)
                value = value * net.factors[near[n], a] + net.bonuses[near[n], a]
                qualities[a] += shares[n] * value
    return logit


@numba.njit(cache=True, error_model="numpy")
def _value(step: int, i: int, a: int, logit: float, span: _Span, net: _Net) -> float:
    """What action ``a`` is worth in centre ``i`` before hazard and bonus."""
    turn, points = min(span.first, span.horizon), net.late.shape[2]
    place = min(max((logit - span.low) / span.width, 0.0), points - 1.0)
    floor = min(int(place), max(points - 2, 0))
    share = place - floor
    value, gain = 0.0, 0.0
    for j in range(net.columns.shape[2]):
        column, weight = net.columns[i, a, j], np.float64(net.weights[i, a, j])
        gain += weight * net.gains[column]
        if step < turn:
            value += weight * net.early[step + 1, column]
        else:
            row = net.late[step - turn, column]
            value += weight * ((1.0 - share) * row[floor] + share * row[min(floor + 1, points - 1)])
    end = np.float64(net.ends[i, a])
    if end > 0.0:
        left = max(span.horizon + 1 - max(step + 1, span.first), 0)
        value = (1.0 - end) * value + end / (1.0 + np.exp(-(logit + left * gain + span.flag)))
    return value
