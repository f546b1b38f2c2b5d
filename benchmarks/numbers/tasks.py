"""Classic control as small functions: what a robot sees, what an action does, which label it gets.

CartPole, MountainCar, Acrobot and Pendulum follow Gymnasium's equations; the tests compare them
step by step. The point robot and the rail are defined here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

State = tuple[float, ...]
Step = Callable[[State, int, np.random.Generator], tuple[State, bool]]

UNBOUNDED = 1e9


@dataclass(frozen=True)
class Task:
    """A simulated robot and the label of its episodes."""

    name: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    actions: int
    horizon: int
    start: Callable[[np.random.Generator], State]
    step: Step  # next state, and whether the episode ended in it
    observe: Callable[[State], State]
    label: Callable[[Sequence[State], bool], bool]  # of the states of an episode, and its end


def _same(state: State) -> State:
    return state


# --- CartPole ---------------------------------------------------------------------------------


def cart_pole_step(state: State, action: int, _: np.random.Generator) -> tuple[State, bool]:
    """One Euler step of 0.02 seconds."""
    x, speed, angle, turning = state
    force = 10.0 if action == 1 else -10.0
    cosine, sine = math.cos(angle), math.sin(angle)
    push = (force + 0.05 * turning * turning * sine) / 1.1
    turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1))
    thrust = push - 0.05 * turn * cosine / 1.1
    after = (x + 0.02 * speed, speed + 0.02 * thrust, angle + 0.02 * turning, turning + 0.02 * turn)
    return after, abs(after[0]) > 2.4 or abs(after[2]) > 12.0 * 2.0 * math.pi / 360.0


def cart_pole(horizon: int) -> Task:
    """Survive the horizon."""
    return Task(
        name=f"CartPole, survived {horizon}",
        low=(-4.8, -UNBOUNDED, -0.418, -UNBOUNDED),
        high=(4.8, UNBOUNDED, 0.418, UNBOUNDED),
        actions=2,
        horizon=horizon,
        start=lambda rng: tuple(rng.uniform(-0.05, 0.05, 4).tolist()),
        step=cart_pole_step,
        observe=_same,
        label=lambda _, ended: not ended,
    )


# --- MountainCar ------------------------------------------------------------------------------


def mountain_car_step(state: State, action: int, _: np.random.Generator) -> tuple[State, bool]:
    """Gravity is stronger than the engine."""
    x, speed = state
    speed += 0.001 * (action - 1) - 0.0025 * math.cos(3.0 * x)
    speed = min(max(speed, -0.07), 0.07)
    x = min(max(x + speed, -1.2), 0.6)
    if x == -1.2 and speed < 0.0:
        speed = 0.0
    return (x, speed), x >= 0.5


def mountain_car(noise: int = 0) -> Task:
    """Reach the top within 200 steps; ``noise`` more dimensions say nothing."""

    def start(rng: np.random.Generator) -> State:
        return (float(rng.uniform(-0.6, -0.4)), 0.0, *rng.standard_normal(noise).tolist())

    def step(state: State, action: int, rng: np.random.Generator) -> tuple[State, bool]:
        after, ended = mountain_car_step(state[:2], action, rng)
        return (*after, *rng.standard_normal(noise).tolist()), ended

    return Task(
        name="MountainCar, top within 200" + (f", {noise} noise dimensions" if noise else ""),
        low=(-1.2, -0.07, *[-5.0] * noise),
        high=(0.6, 0.07, *[5.0] * noise),
        actions=3,
        horizon=200,
        start=start,
        step=step,
        observe=_same,
        label=lambda _, ended: ended,
    )


# --- Acrobot ----------------------------------------------------------------------------------


def _acrobot_slope(state: State, torque: float) -> State:
    """The time derivative of two angles and their speeds (Sutton and Barto's book form)."""
    one, two, speed_one, speed_two = state
    d1 = 0.25 + (1.0 + 0.25 + math.cos(two)) + 2.0
    d2 = 0.25 + 0.5 * math.cos(two) + 1.0
    phi2 = 0.5 * 9.8 * math.cos(one + two - math.pi / 2.0)
    phi1 = -0.5 * speed_two * speed_two * math.sin(two) - speed_two * speed_one * math.sin(two)
    phi1 += 1.5 * 9.8 * math.cos(one - math.pi / 2.0) + phi2
    pull = 0.5 * speed_one * speed_one * math.sin(two)
    two_turn = (torque + d2 / d1 * phi1 - pull - phi2) / (1.25 - d2 * d2 / d1)
    return speed_one, speed_two, -(d2 * two_turn + phi1) / d1, two_turn


def _moved(state: State, slope: State, time: float) -> State:
    return tuple(x + time * s for x, s in zip(state, slope, strict=True))


def _wrapped(angle: float) -> float:
    while angle > math.pi:
        angle -= 2.0 * math.pi
    while angle < -math.pi:
        angle += 2.0 * math.pi
    return angle


def acrobot_step(state: State, action: int, _: np.random.Generator) -> tuple[State, bool]:
    """One Runge-Kutta step of 0.2 seconds."""
    torque = float(action - 1)
    k1 = _acrobot_slope(state, torque)
    k2 = _acrobot_slope(_moved(state, k1, 0.1), torque)
    k3 = _acrobot_slope(_moved(state, k2, 0.1), torque)
    k4 = _acrobot_slope(_moved(state, k3, 0.2), torque)
    one, two, first, second = (
        x + 0.2 / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        for x, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True)
    )
    one, two = _wrapped(one), _wrapped(two)
    first = min(max(first, -4.0 * math.pi), 4.0 * math.pi)
    second = min(max(second, -9.0 * math.pi), 9.0 * math.pi)
    return (one, two, first, second), -math.cos(one) - math.cos(two + one) > 1.0


def acrobot() -> Task:
    """Swing the tip above the line within 200 steps."""
    top = (1.0, 1.0, 1.0, 1.0, 4.0 * math.pi, 9.0 * math.pi)
    return Task(
        name="Acrobot, reached within 200",
        low=tuple(-x for x in top),
        high=top,
        actions=3,
        horizon=200,
        start=lambda rng: tuple(rng.uniform(-0.1, 0.1, 4).tolist()),
        step=acrobot_step,
        observe=lambda s: (
            math.cos(s[0]),
            math.sin(s[0]),
            math.cos(s[1]),
            math.sin(s[1]),
            s[2],
            s[3],
        ),
        label=lambda _, ended: ended,
    )


# --- Pendulum ---------------------------------------------------------------------------------


def pendulum_step(state: State, action: int, _: np.random.Generator) -> tuple[State, bool]:
    """One step of 0.05 seconds; the torque is one of -2, -1, 0, 1, 2."""
    angle, speed = state
    speed += (15.0 * math.sin(angle) + 3.0 * (action - 2.0)) * 0.05
    speed = min(max(speed, -8.0), 8.0)
    return (angle + speed * 0.05, speed), False


def pendulum() -> Task:
    """Upright within 20 degrees at each of the last 20 of 120 steps."""
    upright = math.cos(math.radians(20.0))
    return Task(
        name="Pendulum, 5 torques, upright for the last 20 of 120",
        low=(-1.0, -1.0, -8.0),
        high=(1.0, 1.0, 8.0),
        actions=5,
        horizon=120,
        start=lambda rng: (float(rng.uniform(-math.pi, math.pi)), float(rng.uniform(-1.0, 1.0))),
        step=pendulum_step,
        observe=lambda s: (math.cos(s[0]), math.sin(s[0]), s[1]),
        label=lambda states, _: all(math.cos(s[0]) >= upright for s in states[-20:]),
    )


# --- Point robot ------------------------------------------------------------------------------

_MOVES = ((0.0, 0.0), (0.05, 0.0), (-0.05, 0.0), (0.0, 0.05), (0.0, -0.05))
_WALL, _GAP = 0.5, 0.8  # the wall stands at x = 0.5 up to y = 0.8


def point_step(state: State, action: int, rng: np.random.Generator) -> tuple[State, bool]:
    """A step of 0.05 with a little noise; the wall and the border stop it."""
    x, y = state
    noise = rng.normal(0.0, 0.005, 2)
    to_x = min(max(x + _MOVES[action][0] + float(noise[0]), 0.0), 1.0)
    to_y = min(max(y + _MOVES[action][1] + float(noise[1]), 0.0), 1.0)
    if (x - _WALL) * (to_x - _WALL) <= 0.0 and min(y, to_y) < _GAP:
        to_x = x
    return (to_x, to_y), False


def point() -> Task:
    """Be within 0.1 of the goal behind the wall after 40 steps."""
    return Task(
        name="point robot around a wall, 40 steps",
        low=(0.0, 0.0),
        high=(1.0, 1.0),
        actions=5,
        horizon=40,
        start=lambda rng: tuple((0.2 + rng.uniform(-0.05, 0.05, 2)).tolist()),
        step=point_step,
        observe=_same,
        label=lambda states, _: math.hypot(states[-1][0] - 0.8, states[-1][1] - 0.2) <= 0.1,
    )


# --- Rail -------------------------------------------------------------------------------------


def rail_step(state: State, action: int, _: np.random.Generator) -> tuple[State, bool]:
    """A push of -0.1, 0 or 0.1 a second; 0.1 seconds a step."""
    x, speed = state
    speed += 0.1 * (action - 1)
    return (x + 0.1 * speed, speed), False


def rail() -> Task:
    """Stand nearly still in a small window after 40 steps: 0.25 % of what can be reached."""
    return Task(
        name="rail with a small window",
        low=(-8.0, -4.0),
        high=(8.0, 4.0),
        actions=3,
        horizon=40,
        start=lambda rng: (float(rng.uniform(-0.05, 0.05)), 0.0),
        step=rail_step,
        observe=_same,
        label=lambda states, _: abs(states[-1][0] - 0.4) <= 0.17 and abs(states[-1][1]) <= 0.17,
    )


TASKS: tuple[Task, ...] = (
    cart_pole(100),
    cart_pole(200),
    mountain_car(),
    acrobot(),
    pendulum(),
    point(),
    rail(),
    mountain_car(noise=4),
)
SETTLED_ON = (cart_pole(200).name, mountain_car().name, point().name)  # constants come from these
