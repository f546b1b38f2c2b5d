import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.learning.continuous.interpolation import interpolate, neighbours


def test_the_nearest_centres_are_chosen_nearest_first():
    rng = np.random.default_rng(0)
    centres, points = rng.normal(size=(60, 3)), rng.normal(size=(20, 3))
    chosen, _ = interpolate(points, centres, 8)
    for point, found in zip(points, chosen, strict=True):
        order = np.argsort(((centres - point) ** 2).sum(axis=1))
        assert found.tolist() == order[:8].tolist()


def test_unclipped_weights_are_those_of_a_weighted_regression():
    """Against numpy's least squares, at points where no weight is negative."""
    rng = np.random.default_rng(1)
    centres, compared = rng.uniform(-1, 1, size=(40, 2)), 0
    for point in rng.uniform(-0.5, 0.5, size=(50, 2)):
        chosen, weights = interpolate(point[None], centres, 6)
        near = centres[chosen[0]]
        squares = ((near - point) ** 2).sum(axis=1)
        kernel = 1.0 / (squares / squares.max() + 1e-3)
        rows = np.hstack([np.ones((6, 1)), (near - point) / np.sqrt(squares.max())])
        roots = np.sqrt(kernel)
        extra = np.sqrt(1e-3 * kernel.sum()) * np.eye(3)[1:]
        system = np.vstack([rows * roots[:, None], extra])
        targets = np.vstack([np.diag(roots), np.zeros((2, 6))])
        expected = np.linalg.lstsq(system, targets, rcond=None)[0][0]
        if expected.min() > 0:
            compared += 1
            assert np.allclose(weights[0], expected / expected.sum(), atol=1e-10)
    assert compared > 10


def test_linear_functions_are_nearly_kept_inside():
    rng = np.random.default_rng(2)
    centres = rng.uniform(-1, 1, size=(400, 2))
    points = rng.uniform(-0.8, 0.8, size=(200, 2))
    chosen, weights = interpolate(points, centres, neighbours(2))
    found = (weights[:, :, None] * centres[chosen]).sum(axis=1)
    assert np.abs(found - points).mean() < 0.01  # the centres are 0.1 apart


def test_a_point_on_a_centre_is_that_centre():
    centres = np.random.default_rng(3).normal(size=(50, 2))
    chosen, weights = interpolate(centres, centres, 6)
    assert chosen[:, 0].tolist() == list(range(50))
    assert (weights[:, 0] > 0.85).all()
    assert np.median(weights[:, 0]) > 0.97


def test_far_outside_the_weights_still_are_probabilities():
    centres = np.random.default_rng(4).normal(size=(50, 3))
    _, weights = interpolate(np.full((1, 3), 40.0), centres, 8)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 30))
def test_weights_are_probabilities(seed, dimensions, size):
    """Whatever the centres: few, repeated, or in a plane."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(-2, 3, size=(size, dimensions)).astype(np.float64)
    centres[:, 0] = 1.0
    points = rng.normal(size=(5, dimensions))
    chosen, weights = interpolate(points, centres, neighbours(dimensions))
    assert chosen.shape == weights.shape == (5, min(neighbours(dimensions), size))
    assert (weights >= 0).all()
    assert np.allclose(weights.sum(axis=1), 1.0)
