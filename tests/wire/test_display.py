"""Displays: what is refused, what is answered, and what the documentation shows."""

import json
import re
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from app.errors import InvalidValue
from app.service.agents.display import check_display
from app.service.agents.specification import read_specification
from app.simulation.tasks import load_task, task_names
from app.wire.agents import NewAgent
from app.wire.specification.display import Display
from app.wire.validation import parse

PAGE = Path(__file__).parent.parent.parent / "docs" / "display.md"
READ = TypeAdapter(Display)
GRID = {"kind": "grid", "rows": 2, "cols": 3}
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
BOX = {"kind": "box", "low": [0.0, 0.0], "high": [1.0, 1.0]}


def specification(states, actions=2):
    return read_specification({"states": states, "actions": actions, "horizon": 3})


@pytest.mark.parametrize(
    "display",
    [
        GRID | {"cells": {"lava": [0]}},
        GRID | {"cells": {"hole": [6]}},
        GRID | {"places": [0, 9]},
        GRID | {"texts": {"7": "x"}},
        GRID | {"texts": {"x": "x"}},
        GRID | {"texts": {"1": "x" * 13}},
        GRID | {"borders": [[0, 2]]},
        GRID | {"borders": [[2, 3]]},  # the end of a row and the start of the next
        GRID | {"colour": "red"},
        {"kind": "lines", "dimensions": [{"name": "", "low": 0.0}]},
        {"kind": "lines", "dimensions": [{"name": "a", "low": 1.0, "high": 0.0}]},
        {"kind": "lines", "dimensions": [{"name": "a", "safe": [1.0, None], "low": float("nan")}]},
        {"kind": "lines", "dimensions": [{"name": "a", "safe": [1.0, 0.0]}]},
        {"kind": "track", "x": 0, "y": 0},
        {
            "kind": "track",
            "x": 0,
            "y": 1,
            "regions": [{"kind": "goal", "low": [1, 0], "high": [0, 1]}],
        },
        {"kind": "pictures", "values": ["https://example.org/a.png"]},
        {"kind": "pictures", "values": ["data:text/html;base64,AAAA"]},
        {"kind": "pictures", "values": ["data:image/png;base64," + "A" * 150_000] * 2},
    ],
)
def test_displays_that_mean_nothing_are_refused(display):
    with pytest.raises(ValidationError):
        READ.validate_python(display)


@pytest.mark.parametrize(
    ("states", "display", "field"),
    [
        (6, GRID | {"actions": ["a", "b", "c"]}, "actions"),
        (6, GRID | {"places": [0, 1]}, "places"),
        (6, GRID | {"names": ["x"] * 7}, "names"),
        (2, {"kind": "names", "values": ["a", "b", "c"]}, "values"),
        (2, {"kind": "pictures", "values": [PIXEL]}, "values"),
        (2, {"kind": "lines"}, "kind"),
        (BOX, GRID, "kind"),
        (BOX, {"kind": "lines", "dimensions": [{"name": "a"}] * 3}, "dimensions"),
        (BOX, {"kind": "track", "x": 0, "y": 2}, "y"),
    ],
)
def test_displays_that_do_not_fit_their_agent_are_refused(states, display, field):
    with pytest.raises(InvalidValue) as caught:
        check_display(READ.validate_python(display), specification(states))
    assert caught.value.field == f"display.{field}"


@pytest.mark.parametrize("display", [GRID, {"kind": "lines", "dimensions": [{"name": "a"}]}])
def test_a_display_is_answered_as_it_was_sent(display):
    body = {"name": "it", "states": 6, "actions": 2, "horizon": 3, "display": display}
    assert parse(NewAgent, body).model_dump(mode="json")["display"] == display


def test_every_display_on_the_page_is_one():
    shown = [
        json.loads(one) for one in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    ]
    assert {READ.validate_python(one).kind for one in shown} == {
        "grid",
        "lines",
        "track",
        "names",
        "pictures",
    }


@pytest.mark.parametrize("name", [name for name in task_names() if not name.startswith("random")])
def test_every_simulated_task_has_a_display_that_fits(name):
    task = load_task(name)
    display = READ.validate_python(task.display)
    check_display(display, specification(task.states, task.actions))
    assert len(display.actions) == task.actions
