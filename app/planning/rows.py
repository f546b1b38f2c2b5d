"""Compiled arithmetic on table rows, the inner loops of the grid planners.

Tables are flat: row r of a step begins at ``r * span``, and the point with absolute index g lies
at ``g - base`` in it. Offsets are unsigned where that keeps the test for negative indices out of
the loop and lets the compiler use vector instructions.
"""

from __future__ import annotations

import math

from numba import uint64

from app.planning.compiled import Array, inlined, jit

CURVATURE = 1.0 / (6.0 * math.sqrt(3.0))  # the largest |mu''|
LARGEST_LOGIT = 300.0  # exp of the sum of two such numbers does not overflow


@jit
def sigmoid(x: float) -> float:
    """The logistic function, without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@inlined
def shift(weight: float, delta: float) -> tuple[int, float]:
    """Split the move w / delta of an action into whole grid points and the remaining fraction."""
    # Clip: far outside every window is the same as just outside.
    x = min(max(weight / delta, -1.0e9), 1.0e9)
    k = math.floor(x)
    return k, x - k


@jit
def sigmoid_row(out: Array, at: int, decays: Array, first: int, count: int, weight: float) -> None:
    """Write mu(x + weight) for neighbouring points x, given ``decays`` = exp(-x) from ``first``."""
    o, d = uint64(at), uint64(first)
    if abs(weight) > LARGEST_LOGIT:
        for j in range(uint64(count)):
            out[o + j] = sigmoid(weight - math.log(decays[d + j]))
        return
    ratio = math.exp(-weight)
    for j in range(uint64(count)):
        out[o + j] = 1.0 / (1.0 + ratio * decays[d + j])


@inlined
def add_clamped(
    out: Array, at: int, count: int, first: int, table: Array, start: int, low: int, high: int,
    scale: float, below: float, above: float,
) -> None:  # fmt: skip
    """Add ``scale`` times a row whose window low..high may not cover first..first+count-1.

    ``start`` is where the row's index 0 would lie in ``table``.
    """
    begin = min(max(low - first, 0), count)
    end = max(min(high - first + 1, count), begin)
    for j in range(at, at + begin):
        out[j] += scale * below
    o, t = uint64(at + begin), uint64(start + first + begin)
    for j in range(uint64(end - begin)):
        out[o + j] += scale * table[t + j]
    for j in range(at + end, at + count):
        out[j] += scale * above


@inlined
def gather(
    out: Array, at: int, count: int, first: int, begin: int, end: int, columns: Array,
    probabilities: Array, table: Array, span: int, base: int, low: Array, high: Array,
    below: Array,
) -> None:  # fmt: skip
    """The expectation of the next table at the indices first.., written from out[at] on.

    Successors ``begin..end`` of (columns, probabilities) lead there; none at all stands for the
    mean row, which is the table's last.
    """
    o, n = uint64(at), uint64(count)
    if begin == end:
        for j in range(n):
            out[o + j] = 0.0
        mean = len(low) - 1
        start = mean * span - base
        add_clamped(
            out, at, count, first, table, start, low[mean], high[mean],
            1.0, below[mean], table[start + high[mean]],
        )  # fmt: skip
        return
    last = first + count - 1
    i = begin
    fresh = True
    while i < end:
        covered = 0
        while covered < 3 and i + covered < end:
            c = columns[i + covered]
            if low[c] > first or high[c] < last:
                break
            covered += 1
        if fresh and covered < 2:
            for j in range(n):
                out[o + j] = 0.0
            fresh = False
        if covered == 3:
            p, q, r = probabilities[i], probabilities[i + 1], probabilities[i + 2]
            x = uint64(columns[i] * span + first - base)
            y = uint64(columns[i + 1] * span + first - base)
            z = uint64(columns[i + 2] * span + first - base)
            if fresh:
                for j in range(n):
                    out[o + j] = p * table[x + j] + q * table[y + j] + r * table[z + j]
            else:
                for j in range(n):
                    out[o + j] += p * table[x + j] + q * table[y + j] + r * table[z + j]
        elif covered == 2:
            p, q = probabilities[i], probabilities[i + 1]
            x = uint64(columns[i] * span + first - base)
            y = uint64(columns[i + 1] * span + first - base)
            if fresh:
                for j in range(n):
                    out[o + j] = p * table[x + j] + q * table[y + j]
            else:
                for j in range(n):
                    out[o + j] += p * table[x + j] + q * table[y + j]
        else:
            covered = 1
            c = columns[i]
            start = c * span - base
            add_clamped(
                out, at, count, first, table, start, low[c], high[c],
                probabilities[i], below[c], table[start + high[c]],
            )  # fmt: skip
        fresh = False
        i += covered


@jit
def run_end(actions: Array, begin: int, end: int) -> int:
    """Where the run of equal actions that starts at ``begin`` stops, at most at ``end``."""
    first = actions[begin]
    at = begin + 1
    while at < end and actions[at] == first:
        at += 1
    return at


@jit
def follow(
    theta: float, bonus: float, delta: float, reads: Array, stride: int, count: int,
    values: Array, slopes: Array, losses: Array, at: int,
) -> None:  # fmt: skip
    """One step of the controller's law at neighbouring points that take the same action.

    ``reads`` holds the expected next value, slope and loss, ``stride`` apart. The loss of
    rounding here is theta (1 - theta) [delta (slope up - slope down) + CURVATURE / 2 delta^2].
    """
    rest = 1.0 - theta
    spread, bend = theta * rest * delta, 0.5 * CURVATURE * delta
    o, one = uint64(at), uint64(1)
    x, y = uint64(stride), uint64(2 * stride)
    for j in range(uint64(count)):
        values[o + j] = rest * reads[j] + theta * reads[j + one] + bonus
    for j in range(uint64(count)):
        down, up = reads[x + j], reads[x + j + one]
        slopes[o + j] = rest * down + theta * up
        loss = rest * reads[y + j] + theta * reads[y + j + one]
        losses[o + j] = loss + spread * (up - down + bend)
