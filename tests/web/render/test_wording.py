"""Numbers, times and states as people read them."""

import pytest

from app.service.runtime.times import moment
from app.web.render.wording import Names, percent, seconds, signed, when
from app.wire.agents import NewAgent


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.5, "+0.50"), (-0.5, "\N{MINUS SIGN}0.50"), (0.0, "0.00"), (-0.001, "0.00"), (12, "+12.00")],
)
def test_a_sign_is_written_out_unless_there_is_nothing(value, shown):
    assert signed(value) == shown


def test_what_is_not_known_is_a_dash():
    assert percent(None) == seconds(None) == "\N{EN DASH}"
    assert percent(0.634).replace("\xa0", " ") == "63 %"
    assert [seconds(x).replace("\xa0", " ") for x in (0.0214, 2.34)] == ["21 ms", "2.3 s"]
    assert when(moment(1_700_000_000_123)) == "2023-11-14 22:13:20 UTC"


def names(states, display=None):
    actions = {"kind": "labels", "values": ["up", "down"]}
    body = {"name": "it", "states": states, "actions": actions, "horizon": 3, "display": display}
    return Names(NewAgent.model_validate(body))


def test_states_have_the_names_that_people_gave_them():
    discrete = {"kind": "discrete", "n": 4}
    assert names(discrete).state(3) == "3"
    assert names(discrete).action(1) == "down"
    assert names(discrete, {"kind": "names", "values": ["a", "b"]}).state(1) == "b"
    assert names(discrete, {"kind": "names", "values": ["a", "b"]}).state(2) == "2"
    grid = {"kind": "grid", "rows": 2, "cols": 2}
    assert names(discrete, grid).state(2) == "2 (row 2, column 1)"
    assert names({"kind": "labels", "values": ["hall", "den"]}).state(1) == "den"
    box = {"kind": "box", "low": [0.0] * 9, "high": [1.0] * 9, "bins": [1] * 9}
    assert names(box).state(0).count("0.5") == 8
    assert names(box).state(0).endswith("\N{HORIZONTAL ELLIPSIS})")
