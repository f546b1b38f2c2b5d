import numpy as np
import pytest

from app.learning.continuous.steps import Path
from app.learning.continuous.world import Bounds, World

BOUNDS = Bounds(np.array([-1.0, -1.0]), np.array([1.0, 1.0]), 2)


def step(state, action):
    speed = np.clip(state[1] + 0.05 * (2 * action - 1), -0.5, 0.5)
    return np.array([state[0] + 0.1 * speed, speed])


def play(rng, reported=True, length=30):
    rows, actions = [rng.uniform(-0.5, 0.5, 2)], []
    for _ in range(length):
        actions.append(int(rng.integers(2)))
        rows.append(step(rows[-1], actions[-1]))
        if abs(rows[-1][0]) > 0.55:
            break
    ended = bool(abs(rows[-1][0]) > 0.55)
    final = rows[-1] if reported else None
    return Path(np.array(rows[:-1]), np.array(actions), final, ended)


def world_of(reported=True, n=40, size=200):
    rng = np.random.default_rng(0)
    paths = [play(rng, reported) for _ in range(n)]
    return World(paths, BOUNDS, size, np.random.default_rng(1)), paths


def test_actions_lead_where_they_lead():
    world, _ = world_of()
    seen = world.scaling.back(world.fine)
    inner = np.abs(seen).max(axis=1) < 0.4
    for action in range(2):
        expected = np.array([step(x, action) for x in seen])
        error = world.scaling.back(world.after[:, action]) - expected
        assert np.abs(error[inner]).mean() < 0.003


def test_successors_are_probabilities_and_near_the_prediction():
    world, _ = world_of()
    columns, weights = world.moves
    assert columns.shape == weights.shape == (200, 2, 6)
    assert np.allclose(weights.sum(axis=2), 1.0)
    found = (weights[..., None] * world.fine[columns]).sum(axis=2)
    assert np.abs(found - world.after).mean() < 0.05


@pytest.mark.parametrize("reported", [True, False])
def test_ends_are_known_though_nobody_reports_the_last_state(reported):
    world, _ = world_of(reported)
    seen = world.scaling.back(world.after.reshape(-1, 2))[:, 0]
    ends = world.ends.ravel()
    assert ends[np.abs(seen) > 0.56].mean() > 0.5
    assert ends[np.abs(seen) < 0.5].mean() < 0.03


def test_the_states_of_an_episode_end_with_the_last():
    world, paths = world_of()
    path = next(path for path in paths if path.ended and len(path) < 20)
    states = world.scaling.back(world.states_of(path, 30))
    assert np.allclose(states[: len(path) - 1], path.observations[1:])
    assert np.allclose(states[len(path) - 1 :], path.final)


def test_a_last_state_without_a_report_is_predicted():
    world, paths = world_of(reported=False)
    path = next(path for path in paths if not path.ended)
    last = world.scaling.back(world.states_of(path, 30))[-1]
    assert last == pytest.approx(step(path.observations[-1], path.actions[-1]), abs=0.01)


def test_visits_of_points_that_are_not_in_the_log():
    world, _ = world_of()
    assert world.visits_of(world.after[3, :1]).ravel()[6] >= 1
    assert world.visits_of(np.full((1, 2), 40.0)).sum() == 0


def test_places_outside_the_box_are_told_apart():
    world, _ = world_of()
    z = world.scaling(np.array([[0.9, 0.0], [1.1, 0.0]]))
    assert world.inside(z).tolist() == [1.0, 0.0]


def test_many_steps_are_sampled_and_visits_still_count_all():
    rng = np.random.default_rng(2)
    paths = [play(rng, length=30) for _ in range(1200)]
    world = World(paths, BOUNDS, 100, np.random.default_rng(3))
    whole = World(paths[:400], BOUNDS, 100, np.random.default_rng(3))
    assert world.total > 20_000
    assert world.visits.sum() / whole.visits.sum() == pytest.approx(3.0, rel=0.4)


def test_the_same_log_gives_the_same_world():
    one, other = world_of()[0], world_of()[0]
    assert (one.fine == other.fine).all()
    assert (one.after == other.after).all()
