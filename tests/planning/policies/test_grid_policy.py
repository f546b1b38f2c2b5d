"""The policy of the grid planners: its random moves, its look-ups, and its stored form."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

from app.planning.policies.grid import GridPolicy

H, S, A = 2, 2, 4
DELTA = 0.25
CLIP = (-5, 6)
LOW = np.array([[0, 0], [-2, 1]], dtype=np.int32)
HIGH = np.array([[0, 0], [3, 2]], dtype=np.int32)
# One action per point: rows of 1, 1, 6 and 2 points.
ACTIONS = np.array([2, 1, 0, 1, 2, 3, 3, 1, 2, 0], dtype=np.uint8)
OFFSETS = np.array([[0, 1], [2, 8]])
WEIGHTS = np.zeros((H, S, A))
WEIGHTS[0, 0, 2] = 0.6  # 2.4 points: 2, or 3 with probability 0.4
WEIGHTS[0, 1, 1] = -0.4  # -1.6 points: -2, or -1 with probability 0.4
WEIGHTS[1, 0] = 0.1, 100.0, -100.0, 0.5
WEIGHTS[1, 1, 2] = 1e30


def policy() -> GridPolicy:
    return GridPolicy(DELTA, CLIP, LOW, HIGH, OFFSETS, ACTIONS, WEIGHTS)


def looked_up(step: int, state: int, index: int) -> int:
    """The action at the nearest point of the row."""
    points = list(range(LOW[step, state], HIGH[step, state] + 1))
    nearest = min(points, key=lambda point: abs(point - index))
    return int(ACTIONS[OFFSETS[step, state] + points.index(nearest)])


@pytest.mark.parametrize("index", range(-9, 10))
@pytest.mark.parametrize(("step", "state"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_a_look_up_outside_the_window_is_held(step: int, state: int, index: int) -> None:
    action, _ = policy().act(step, state, (index,), 0.5)
    assert action == looked_up(step, state, index)


@pytest.mark.parametrize("memory", [(), (0,), (-4,), (5,), (40,), (-40,)])
@pytest.mark.parametrize(("step", "state"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_it_acts_as_often_as_its_branches_say(
    step: int, state: int, memory: tuple[int, ...]
) -> None:
    """Over evenly spaced numbers a share is off by less than one of them."""
    n = 1000
    counts: dict[tuple[int, tuple[int, ...]], int] = {}
    for i in range(n):
        outcome = policy().act(step, state, memory, (i + 0.5) / n)
        counts[outcome] = counts.get(outcome, 0) + 1
    branches: dict[tuple[int, tuple[int, ...]], float] = {}
    for chance, action, after in policy().branches(step, state, memory):
        assert chance > 0.0
        branches[action, after] = branches.get((action, after), 0.0) + chance
    assert sum(branches.values()) == pytest.approx(1.0)
    assert counts.keys() == branches.keys()
    for outcome, chance in branches.items():
        assert abs(counts[outcome] / n - chance) <= 1 / n


@pytest.mark.parametrize(("state", "moved"), [(0, 0.6 / DELTA), (1, -0.4 / DELTA)])
def test_the_index_is_right_on_average(state: int, moved: float) -> None:
    """Also where it starts outside the window: the look-up is held, the index is not."""
    for index in (-2, 0, 2):
        branches = policy().branches(0, state, (index,))
        mean = sum(chance * after[0] for chance, _, after in branches)
        assert mean == pytest.approx(index + moved)
        assert {after[0] for _, _, after in branches} == {
            index + math.floor(moved),
            index + math.ceil(moved),
        }


def test_an_episode_begins_at_index_0() -> None:
    for state in range(S):
        assert policy().act(0, state, (), 0.3) == policy().act(0, state, (0,), 0.3)


@pytest.mark.parametrize(
    ("state", "index", "held"),
    [
        (0, -1, CLIP[1]),  # action 1 adds 400 points
        (0, 0, CLIP[0]),  # action 2 takes 400 away
        (1, 1, CLIP[1]),  # action 2 adds more than any integer holds
    ],
)
def test_the_index_stays_within_the_clip(state: int, index: int, held: int) -> None:
    for uniform in (0.0, 0.5, 1.0 - 2**-53):
        _, memory = policy().act(1, state, (index,), uniform)
        assert memory == (held,)
    assert [after for _, _, after in policy().branches(1, state, (index,))] == [(held,)]


def test_whole_points_need_no_luck() -> None:
    """Action 3 adds exactly two points; there is one branch."""
    assert policy().branches(1, 0, (1,)) == [(1.0, 3, (3,))]
    assert {policy().act(1, 0, (1,), u) for u in (0.0, 0.999)} == {(3, (3,))}


def test_arrays_give_the_same_policy_back() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **policy().arrays())
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as stored:
        restored = GridPolicy.from_arrays(dict(stored))
    assert restored.delta == DELTA
    assert restored.clip == CLIP
    assert restored.actions.dtype == ACTIONS.dtype
    for step in range(H):
        for state in range(S):
            for index in range(-8, 9):
                for uniform in (0.1, 0.39, 0.41, 0.9):
                    here = policy().act(step, state, (index,), uniform)
                    there = restored.act(step, state, (index,), uniform)
                    assert here == there
                    assert type(there[1][0]) is int  # it goes into JSON


def test_more_actions_than_a_byte_holds() -> None:
    actions, weights = np.array([300], dtype=np.uint16), np.zeros((1, 1, 301))
    window, offsets = np.zeros((1, 1), dtype=np.int32), np.zeros((1, 1), dtype=np.int64)
    wide = GridPolicy(1.0, (0, 0), window, window, offsets, actions, weights)
    assert wide.act(0, 0, (), 0.5) == (300, (0,))
    assert GridPolicy.from_arrays(wide.arrays()).act(0, 0, (), 0.5) == (300, (0,))
