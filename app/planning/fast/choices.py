"""Compiled choice among actions at neighbouring points of one state.

Four actions are compared at a time, which saves reads and writes of the running maximum; rows are
so short that this matters. Where one or two are left the loop compares two.
"""

from __future__ import annotations

from numba import uint64

from app.planning.compiled import Array, as_integer, inlined


@inlined
def _value(down: float, up: float, theta: float, bonus: float) -> float:
    """The value of an action between the next table's entries ``down`` and ``up``."""
    return (1.0 - theta) * down + theta * up + bonus


@inlined
def _better(p: float, p_name: int, q: float, q_name: int) -> tuple[float, int]:
    """The larger of two values and its action; the first if they are equal."""
    second = q > p
    return (q if second else p), (q_name if second else p_name)


@inlined
def _choose_four(
    reads: Array, stride: int, thetas: Array, bonuses: Array,
    table: Array, at: int, count: int, actions: Array, place: int, a: int,
) -> None:  # fmt: skip
    """Update the best actions with up to four more actions, from ``a`` on."""
    last, name = len(thetas) - 1, actions.dtype.type
    o, v, n = uint64(at), uint64(place), uint64(count)
    b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
    w, x, y, z = uint64(a * stride), uint64(b * stride), uint64(c * stride), uint64(d * stride)
    up_a, up_b, up_c, up_d = thetas[a], thetas[b], thetas[c], thetas[d]
    add_a, add_b, add_c, add_d = bonuses[a], bonuses[b], bonuses[c], bonuses[d]
    is_a, is_b, is_c, is_d = name(a), name(b), name(c), name(d)
    for j in range(n):
        k = j + uint64(1)
        p = _value(reads[w + j], reads[w + k], up_a, add_a)
        q = _value(reads[x + j], reads[x + k], up_b, add_b)
        p, p_name = _better(p, is_a, q, is_b)
        if last - a > 1:
            q = _value(reads[y + j], reads[y + k], up_c, add_c)
            r = _value(reads[z + j], reads[z + k], up_d, add_d)
            q, q_name = _better(q, is_c, r, is_d)
            p, p_name = _better(p, p_name, q, q_name)
        if a > 0:
            p, p_name = _better(table[o + j], actions[v + j], p, p_name)
        table[o + j] = p
        actions[v + j] = p_name


@inlined
def choose(
    reads: Array, stride: int, thetas: Array, bonuses: Array,
    table: Array, at: int, count: int, actions: Array, place: int,
) -> None:  # fmt: skip
    """Best actions at neighbouring points of one state, from actions[place] on, and their values.

    ``reads[a * stride + j]`` is the expected next table at the j-th point moved down, the entry
    after it moved up. The values are written from table[at] on.
    """
    _choose_four(reads, stride, thetas, bonuses, table, at, count, actions, place, as_integer(0))
    for a in range(4, len(thetas), 4):
        _choose_four(reads, stride, thetas, bonuses, table, at, count, actions, place, a)


@inlined
def _lack(read: float, theta: float, bonus: float, left: float, right: float) -> float:
    """The amount by which an action at its knot exceeds the chord from ``left`` to ``right``."""
    return read + bonus - theta * left - (1.0 - theta) * right


@inlined
def _lack_of_four(
    reads: Array, stride: int, thetas: Array, bonuses: Array,
    table: Array, at: int, count: int, excess: Array, a: int,
) -> None:  # fmt: skip
    """Update the largest excess of each cell with up to four more actions, from ``a`` on."""
    last = len(thetas) - 1
    o, one, n = uint64(at), uint64(1), uint64(count - 1)
    b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
    w, x = uint64(a * stride + 1), uint64(b * stride + 1)
    y, z = uint64(c * stride + 1), uint64(d * stride + 1)
    up_a, up_b, up_c, up_d = thetas[a], thetas[b], thetas[c], thetas[d]
    add_a, add_b, add_c, add_d = bonuses[a], bonuses[b], bonuses[c], bonuses[d]
    for j in range(n):
        left, right = table[o + j], table[o + j + one]
        most = max(
            _lack(reads[w + j], up_a, add_a, left, right),
            _lack(reads[x + j], up_b, add_b, left, right),
        )
        if last - a > 1:
            more = max(
                _lack(reads[y + j], up_c, add_c, left, right),
                _lack(reads[z + j], up_d, add_d, left, right),
            )
            most = max(most, more)
        excess[j + one] = max(excess[j + one] if a > 0 else 0.0, most)


@inlined
def cover_knots(
    reads: Array, stride: int, thetas: Array, bonuses: Array,
    table: Array, at: int, count: int, excess: Array,
) -> None:  # fmt: skip
    """Raise the values that `choose` wrote until their chords lie above every action.

    In each cell an action's value is linear but for one knot at 1 - theta: both ends of the cell
    rise by the largest amount by which an action at its knot exceeds the chord of the maximum.
    """
    if count < 2:
        return
    o, one = uint64(at), uint64(1)
    excess[0] = excess[count] = 0.0
    _lack_of_four(reads, stride, thetas, bonuses, table, at, count, excess, as_integer(0))
    for a in range(4, len(thetas), 4):
        _lack_of_four(reads, stride, thetas, bonuses, table, at, count, excess, a)
    for j in range(uint64(count)):
        table[o + j] += max(excess[j], excess[j + one])
