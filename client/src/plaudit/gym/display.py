"""How pages draw the classic environments of Gymnasium: grids, names and numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

from plaudit.answers.agents import Space

Display = Mapping[str, object]

_LAKE_CELLS = {"start": b"S", "hole": b"H", "goal": b"G"}
_TURN = math.radians(12)  # how far the pole of CartPole may lean


def display_of(env: Any, states: Space, actions: Space) -> Display | None:
    """The display of an environment that is known here, or that has a map with a letter a state."""
    spec = getattr(env, "spec", None)
    name = str(getattr(spec, "id", "") or "").split("-v", 1)[0]
    make = _KNOWN.get(name, _letters)
    display = make(getattr(env, "unwrapped", env), states)
    if display is not None and len(_names(display)) != actions.n:
        # A wrapper changed what actions are.
        display = {key: value for key, value in display.items() if key != "actions"}
    return display


def _names(display: Display) -> list[str]:
    names = display.get("actions", [])
    assert isinstance(names, list)
    return names


def _letters(env: Any, states: Space) -> Display | None:
    """A grid, where the environment has a map with one letter for each state."""
    letters: Any = getattr(env, "desc", None)
    shape: tuple[int, ...] = getattr(letters, "shape", ())
    if len(shape) != 2 or states.n != shape[0] * shape[1]:
        return None
    return {"kind": "grid", "rows": int(shape[0]), "cols": int(shape[1])}


def _lake(env: Any, states: Space) -> Display | None:
    grid = _letters(env, states)
    if grid is None:
        return None
    letters = env.desc.ravel().tolist()
    cells = {
        kind: [i for i, one in enumerate(letters) if one == letter]
        for kind, letter in _LAKE_CELLS.items()
    }
    return {**grid, "cells": cells, "actions": ["left", "down", "right", "up"]}


def _cliff(env: Any, states: Space) -> Display | None:
    rows, cols = (int(n) for n in env.shape)
    if states.n != rows * cols:
        return None
    cliff = [i for i, falls in enumerate(env._cliff.ravel().tolist()) if falls]
    cells = {"start": [(rows - 1) * cols], "danger": cliff, "goal": [rows * cols - 1]}
    names = ["up", "right", "down", "left"]
    return {"kind": "grid", "rows": rows, "cols": cols, "cells": cells, "actions": names}


def _taxi(env: Any, states: Space) -> Display | None:
    rows, cols, stops = 5, 5, "RGYB"
    if states.n != rows * cols * (len(stops) + 1) * len(stops):
        return None
    squares = range(rows * cols)
    waiting = [f"passenger at {stop}" for stop in stops] + ["passenger in the taxi"]
    states_in_order = list(itertools.product(squares, waiting, stops))
    walls = [
        [row * cols + col, row * cols + col + 1]
        for row in range(rows)
        for col in range(cols - 1)
        if env.desc[1 + row, 2 * col + 2] == b"|"
    ]
    return {
        "kind": "grid",
        "rows": rows,
        "cols": cols,
        "places": [square for square, _, _ in states_in_order],
        "names": [
            f"row {square // cols + 1}, column {square % cols + 1}, {where}, to {stop}"
            for square, where, stop in states_in_order
        ],
        "texts": {str(row * cols + col): stops[i] for i, (row, col) in enumerate(env.locs)},
        "borders": walls,
        "actions": ["down", "up", "right", "left", "pick up", "drop off"],
    }


def _blackjack(_: Any, states: Space) -> Display | None:
    hands = itertools.product(range(32), range(11), ("", ", with an ace as 11"))
    names = [f"you have {mine}, the dealer shows {shown}{ace}" for mine, shown, ace in hands]
    if states.n != len(names):
        return None
    return {"kind": "names", "values": names, "actions": ["stand", "take a card"]}


def _numbers(*dimensions: Mapping[str, object], **more: object) -> Callable[[Any, Space], Any]:
    """Plots of an observation, if it has as many numbers as are known."""

    def make(_: Any, states: Space) -> Display | None:
        if states.low is None or len(states.low) != len(dimensions):
            return None
        return {"kind": "lines", "dimensions": list(dimensions), **more}

    return make


def _angle(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "low": -1.0, "high": 1.0, **more}


_CAR = (
    {"name": "position", "low": -1.2, "high": 0.6, "goal": [0.5, None]},
    {"name": "velocity", "low": -0.07, "high": 0.07},
)
_KNOWN: dict[str, Callable[[Any, Space], Display | None]] = {
    "FrozenLake": _lake,
    "FrozenLake8x8": _lake,
    "CliffWalking": _cliff,
    "CliffWalkingSlippery": _cliff,
    "Taxi": _taxi,
    "Blackjack": _blackjack,
    "CartPole": _numbers(
        {"name": "cart position", "low": -2.4, "high": 2.4, "safe": [-2.4, 2.4]},
        {"name": "cart velocity", "low": -3.0, "high": 3.0},
        {"name": "pole angle", "unit": "rad", "low": -0.25, "high": 0.25, "safe": [-_TURN, _TURN]},
        {"name": "pole velocity", "unit": "rad/s", "low": -3.5, "high": 3.5},
        actions=["push left", "push right"],
    ),
    "MountainCar": _numbers(*_CAR, actions=["push left", "let it roll", "push right"]),
    "MountainCarContinuous": _numbers(
        {**_CAR[0], "goal": [0.45, None]},
        _CAR[1],
    ),
    "Acrobot": _numbers(
        _angle("cosine of the upper angle"),
        _angle("sine of the upper angle"),
        _angle("cosine of the lower angle"),
        _angle("sine of the lower angle"),
        {"name": "upper velocity", "unit": "rad/s", "low": -12.6, "high": 12.6},
        {"name": "lower velocity", "unit": "rad/s", "low": -28.3, "high": 28.3},
        actions=["turn left", "do nothing", "turn right"],
    ),
    # The path of the pendulum's tip: sine to the right, cosine upwards.
    "Pendulum": _numbers(
        _angle("height of the tip"),
        _angle("tip to the right"),
        {"name": "velocity", "unit": "rad/s", "low": -8.0, "high": 8.0},
        kind="track",
        x=1,
        y=0,
        regions=[{"kind": "goal", "low": [-0.3, 0.9], "high": [0.3, 1.0], "name": "upright"}],
    ),
}
