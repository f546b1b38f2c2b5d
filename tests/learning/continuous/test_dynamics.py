import numpy as np
import pytest

from app.learning.continuous.dynamics import VISIT_RADIUS, Dynamics

ACTIONS = 3


def learned(step, n, seed=0, dimensions=2):
    rng = np.random.default_rng(seed)
    before = rng.uniform(-1, 1, size=(n, dimensions))
    actions = rng.integers(ACTIONS, size=n)
    after = np.array([step(z, a) for z, a in zip(before, actions, strict=True)])
    ended = (after[:, 0] > 0.8).astype(np.float64)
    return Dynamics(before, actions, after, ended, ACTIONS)


def straight(z, a):
    return np.array([[0.9, 0.1], [-0.2, 1.0]]) @ z + np.array([0.1, -0.3]) * (a - 1) + 0.05


def swing(z, a):
    speed = z[1] + 0.2 * np.sin(3.0 * z[0]) + 0.1 * (a - 1)
    return np.array([z[0] + 0.2 * speed, speed])


def test_linear_dynamics_are_found_everywhere():
    model = learned(straight, 200)
    points = np.random.default_rng(1).uniform(-3, 3, size=(30, 2))
    expected = np.array([[straight(z, a) for a in range(ACTIONS)] for z in points])
    assert np.abs(model.predict(points) - expected).max() < 1e-3


def test_curved_dynamics_are_found_near_the_steps():
    """The local part must help: the best linear model alone is more than five times worse."""
    model = learned(swing, 600)
    points = np.random.default_rng(2).uniform(-0.9, 0.9, size=(100, 2))
    expected = np.array([[swing(z, a) for a in range(ACTIONS)] for z in points])
    error = np.sqrt(((model.predict(points) - expected) ** 2).mean())
    rows = np.hstack([np.ones((100, 1)), points])
    flat = expected[:, 1] - rows @ np.linalg.lstsq(rows, expected[:, 1], rcond=None)[0]
    assert error < 0.01
    assert error < 0.2 * np.sqrt((flat**2).mean())


def test_an_action_that_was_not_tried_nearby_gets_its_common_effect():
    rng = np.random.default_rng(3)
    before = np.concatenate([rng.uniform(-1, 0, size=(200, 1)), rng.uniform(2, 3, size=(200, 1))])
    actions = np.concatenate([rng.integers(2, size=200), np.zeros(200, dtype=np.int64)])
    after = before + 0.1 * (2.0 * actions[:, None] - 1.0)
    model = Dynamics(before, actions, after, np.zeros(400), 2)
    assert model.predict(np.array([[2.5]]))[0].ravel() == pytest.approx([2.4, 2.6], abs=0.01)


def test_one_step_is_enough_to_predict_something():
    one = np.array([[0.5, 0.5]])
    model = Dynamics(one, np.array([0]), one + 0.1, np.zeros(1), ACTIONS)
    assert np.isfinite(model.predict(np.zeros((4, 2)))).all()


def test_ends_are_where_episodes_ended():
    model = learned(straight, 2000)
    points = np.array([[1.0, 0.0], [0.2, 0.0], [-0.7, 0.3]])
    assert model.end_probability(points).tolist() == [1.0, 0.0, 0.0]


def test_visits_are_counted_within_the_radius():
    rng = np.random.default_rng(4)
    after, points = rng.uniform(-1, 1, size=(500, 3)), rng.uniform(-1, 1, size=(40, 3))
    model = Dynamics(after, np.zeros(500, dtype=np.int64), after, np.zeros(500), 1)
    gaps = np.sqrt(((points[:, None] - after) ** 2).sum(axis=2))
    expected = (gaps <= VISIT_RADIUS * np.sqrt(3)).sum(axis=1)
    assert model.visits(points).tolist() == expected.tolist()
    assert expected.max() > 1
