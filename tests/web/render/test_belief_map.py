"""The belief map as squares: arrows, words, and states that share a square."""

import pytest

from app.agents.insight import Axis
from app.service.views.belief_maps import BeliefCell, BeliefMap
from app.web.render.belief_map import arrow, draw_map
from app.web.render.wording import Names
from app.wire.agents import NewAgent

MOVES = ["left", "down", "right", "up"]


def drawn(found, states, display, actions=4):
    body = {"name": "it", "states": states, "actions": actions, "horizon": 3, "display": display}
    agent = NewAgent.model_validate(body)
    return draw_map(found, agent, Names(agent))


@pytest.mark.parametrize(
    ("action", "sign"),
    [
        ("left", "←"),
        ("Push Right", "→"),
        ("north-east", "↗"),
        ("move_down", "↓"),
        ("wait", "wai"),
        ("3", "3"),
    ],
)
def test_directions_are_arrows(action, sign):
    assert arrow(action) == sign


def test_a_square_says_what_it_is_in_plain_words():
    cells = [BeliefCell(0.61, 48, 1), BeliefCell(None, 0, None), BeliefCell(0.2, 1, 2)]
    cells.append(BeliefCell(None, 0, None))
    grid = {"kind": "grid", "rows": 2, "cols": 2, "cells": {"goal": [3]}, "actions": MOVES}
    first, never, right, goal = drawn(BeliefMap(cells), 4, grid).squares
    assert first.words.replace("\xa0", " ") == (
        "Row 1, column 1. Does: down. 61 % chance from here. Seen 48 times."
    )
    assert (first.sign, first.strength, first.opacity) == ("↓", 0.61, 1.0)
    assert never.words == "Row 1, column 2. It never acted here."
    assert (never.sign, never.strength) == ("", 0.0)
    assert right.words.endswith("Seen 1 time.")
    assert 0.35 < right.opacity < first.opacity
    assert (goal.kind, goal.sign, goal.words) == ("goal", "⚑", "Row 2, column 2. The goal.")


def test_states_that_share_a_square_are_merged_by_their_visits():
    cells = [BeliefCell(0.2, 1, 0), BeliefCell(None, 0, None), BeliefCell(0.8, 3, 2)]
    cells.append(BeliefCell(0.5, 2, 1))
    grid = {"kind": "grid", "rows": 1, "cols": 2, "places": [0, 1, 0, 1], "actions": MOVES}
    left, right = drawn(BeliefMap(cells), 4, grid).squares
    assert (left.strength, left.sign) == (0.65, "→")
    assert (right.strength, right.sign) == (0.5, "↓")


def test_cells_over_two_numbers_go_right_and_upwards():
    axes = (Axis(0, 0.0, 2.0, 2), Axis(1, -1.0, 1.0, 2))
    cells = [BeliefCell(i / 10, 1, 0) for i in range(4)]
    display = {"kind": "lines", "dimensions": [{"name": "east"}, {"name": "north"}]}
    box = {"kind": "box", "low": [0.0, -1.0], "high": [2.0, 1.0]}
    found = drawn(BeliefMap(cells, axes), box, display, actions=2)
    places = {(square.x, square.y): square for square in found.squares}
    assert places[0, 1].strength == 0.0  # low and low: at the left, below
    assert places[1, 0].strength == 0.3
    assert places[0, 0].words.startswith("east 0 to 1, north 0 to 1.")
    assert places[0, 1].words.startswith("east 0 to 1, north \N{MINUS SIGN}1 to 0.")


def test_states_without_a_place_are_tiles_unless_there_are_many():
    assert drawn(BeliefMap([BeliefCell(0.5, 1, 0)] * 10), 10, None).columns == 4
    assert drawn(BeliefMap([BeliefCell(0.5, 1, 0)] * 401), 401, None) is None
