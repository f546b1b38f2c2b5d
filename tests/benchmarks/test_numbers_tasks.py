"""The benchmark's robots against Gymnasium's, step by step, and against their description."""

import numpy as np
import pytest

from benchmarks.numbers.tasks import (
    TASKS,
    acrobot,
    acrobot_step,
    cart_pole,
    cart_pole_step,
    mountain_car,
    mountain_car_step,
    pendulum_step,
    point_step,
    rail,
)

RNG = np.random.default_rng(0)


def uniform_episode(task, rng):
    states, ended = [task.start(rng)], False
    while len(states) <= task.horizon and not ended:
        state, ended = task.step(states[-1], int(rng.integers(task.actions)), rng)
        states.append(state)
    return states, ended


@pytest.mark.parametrize(
    ("name", "step", "observe"),
    [
        ("CartPole-v1", cart_pole_step, cart_pole(100).observe),
        ("MountainCar-v0", mountain_car_step, mountain_car().observe),
        ("Acrobot-v1", acrobot_step, acrobot().observe),
    ],
)
def test_they_move_as_in_gymnasium(name, step, observe):
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make(name)
    env.reset(seed=1)
    state = tuple(float(x) for x in env.unwrapped.state)
    for _ in range(200):
        action = int(RNG.integers(env.action_space.n))
        seen, _, ended, cut, _ = env.step(action)
        state, over = step(state, action, RNG)
        assert np.allclose(observe(state), seen, atol=1e-4)
        assert over == ended
        if ended or cut:
            break


def test_the_pendulum_moves_as_in_gymnasium():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("Pendulum-v1")
    env.reset(seed=2)
    state = tuple(float(x) for x in env.unwrapped.state)
    for _ in range(150):
        action = int(RNG.integers(5))
        env.step(np.array([action - 2.0]))
        state, _ = pendulum_step(state, action, RNG)
        assert np.allclose(state, env.unwrapped.state, atol=1e-4)


def test_the_wall_stops_the_robot_below_the_gap_only():
    rng = np.random.default_rng(1)
    (x, _), _ = point_step((0.49, 0.3), 1, rng)
    assert x == 0.49
    (x, _), _ = point_step((0.49, 0.9), 1, rng)
    assert x > 0.5


def test_the_window_on_the_rail_is_rarely_hit_by_chance():
    rng = np.random.default_rng(2)
    good = [rail().label(*uniform_episode(rail(), rng)) for _ in range(2000)]
    assert 0.03 < np.mean(good) < 0.07


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_observations_fit_the_declared_box(task):
    states, _ = uniform_episode(task, np.random.default_rng(3))
    seen = np.array([task.observe(state) for state in states])
    assert seen.shape[1] == len(task.low) == len(task.high)
    assert (seen >= np.array(task.low) - 1e-9).all()
    assert (seen <= np.array(task.high) + 1e-9).all()
