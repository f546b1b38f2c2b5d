"""Episodes that are seen as numbers: kept, stored, and refused when they do not fit."""

import numpy as np
import pytest

from app.agents.experience import Experience
from app.errors import InvalidValue, SnapshotError
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory

SPACES = Spaces(1, 3, 4)


def episodes():
    rng = np.random.default_rng(1)
    return [
        Trajectory.observed(rng.normal(size=(n, 2)), rng.integers(3, size=n), ended=n < 4)
        for n in (4, 2, 0, 3)
    ]


def told():
    experience = Experience(SPACES, observed=2)
    for number, trajectory in enumerate(episodes()):
        experience.finish(number, trajectory)
    experience.set_label(2, 1)
    experience.set_label(2, 0, slot=1)
    experience.set_label(0, 1, slot=1)
    experience.remove_label(0, slot=1)
    return experience


def test_observations_come_back_from_arrays():
    again = Experience(SPACES, observed=2)
    again.load(told().arrays())
    for number, wanted in enumerate(episodes()):
        found = again.episodes[number]
        np.testing.assert_array_equal(found.observations, wanted.observations)
        np.testing.assert_array_equal(found.actions, wanted.actions)
        assert found.ended == wanted.ended
    assert again.labels == {(2, 0): 1, (2, 1): 0}
    assert again.changes == told().changes


def test_nothing_comes_back_from_nothing():
    again = Experience(SPACES, observed=2)
    again.load(Experience(SPACES, observed=2).arrays())
    assert again.episodes == {}


@pytest.mark.parametrize("observed", [1, 3, None])
def test_arrays_of_other_observations_are_refused(observed):
    with pytest.raises(SnapshotError, match="observations"):
        Experience(SPACES, observed=observed).load(told().arrays())


def test_arrays_without_observations_are_refused():
    arrays = told().arrays()
    del arrays["observations"]
    with pytest.raises(SnapshotError, match="observations"):
        Experience(SPACES, observed=2).load(arrays)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (None, "2 numbers for each of the 3 steps"),
        (np.zeros((3, 1)), "2 numbers for each of the 3 steps"),
        (np.zeros((2, 2)), "2 numbers for each of the 3 steps"),
        (np.zeros(6), "2 numbers for each of the 3 steps"),
        (np.full((3, 2), np.nan), "finite numbers"),
        (np.full((3, 2), -np.inf), "finite numbers"),
        (np.array([["a", "b"]] * 3), "finite numbers"),
    ],
)
def test_observations_that_do_not_fit_change_nothing(seen, expected):
    experience = Experience(SPACES, observed=2)
    bad = Trajectory(np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64), observations=seen)
    for tell in (lambda: experience.finish(0, bad), lambda: experience.abandon(bad)):
        with pytest.raises(InvalidValue) as caught:
            tell()
        assert caught.value.field == "trajectory.observations"
        assert caught.value.expected == expected
    assert not experience.episodes
    assert experience.transitions.visits.sum() == 0


def test_numbers_out_of_bounds_are_fine():
    experience = Experience(SPACES, observed=2)
    experience.finish(0, Trajectory.observed(np.full((1, 2), 1e300), np.array([0])))
    assert 0 in experience.episodes
