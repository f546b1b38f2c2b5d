"""Invalid data is refused with the field, and with words that say what to send instead."""

from typing import Annotated, Literal

import pytest
from pydantic import Field, StrictInt

from app.errors import InvalidValue, UnknownField
from app.wire.agents import NewAgent
from app.wire.base import Strict
from app.wire.steps import ManySteps
from app.wire.validation import parse

AGENT = {
    "name": "lake",
    "states": {"kind": "discrete", "n": 4},
    "actions": {"kind": "discrete", "n": 2},
    "horizon": 5,
}


def refusal(model, data, field=""):
    with pytest.raises(InvalidValue) as caught:
        parse(model, data, field)
    return caught.value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"horizon": 0}, "horizon: expected a number greater than or equal to 1, got 0"),
        ({"horizon": "5"}, 'horizon: expected a whole number, got "5"'),
        ({"name": ""}, "name: expected a string of at least 1 character"),
        ({"name": "x" * 201}, "name: expected a string of at most 200 characters"),
        ({"states": {"n": 4}}, "states.kind: expected a value; it is missing"),
        ({"actions": {"kind": "labels", "values": []}}, "actions.values: expected at least 1 item"),
        (
            {"actions": {"kind": "box"}},
            "actions.kind: expected one of 'discrete', 'labels', got \"box\"",
        ),
    ],
)
def test_the_first_error_names_the_field_and_what_was_expected(change, words):
    assert str(refusal(NewAgent, AGENT | change)) == words


def test_an_unknown_option_of_an_agent_kind_is_answered_with_the_options_of_the_kind():
    error = refusal(NewAgent, AGENT | {"algorithm": {"kind": "thompson", "colour": "red"}})
    assert isinstance(error, UnknownField)
    assert error.field == "algorithm.colour"
    assert error.reason.startswith("unknown option 'colour'. Options of thompson: ")
    assert {"draws", "epsilon"} <= set(error.known)
    assert "kind" not in error.known


def test_an_unknown_field_is_answered_with_the_fields_there_are():
    error = refusal(NewAgent, AGENT | {"horizons": 5})
    assert error.reason.startswith("unknown field 'horizons'. Fields: actions, algorithm, ")


def test_an_unknown_field_within_a_list_is_found():
    error = refusal(ManySteps, {"steps": [{"episode": "e", "state": 1, "stepp": 3}]}, "body")
    assert error.field == "body.steps.0.stepp"
    assert (
        error.reason
        == "unknown field 'stepp'. Fields: action, allowed, episode, executed, state, step"
    )


class Inner(Strict):
    kind: Literal["inner"] = "inner"
    size: StrictInt = 1


class Other(Strict):
    kind: Literal["other"] = "other"


class Outer(Strict):
    tagged: Annotated[Inner | Other, Field(discriminator="kind")] = Inner()
    untagged: Literal["all"] | Inner | tuple[StrictInt, ...] = "all"


def test_the_members_of_unions_are_told_apart():
    tagged = refusal(Outer, {"tagged": {"kind": "other", "size": 2}})
    assert (tagged.field, tagged.reason) == (
        "tagged.size",
        "unknown option 'size'. Options of other: none",
    )
    untagged = refusal(Outer, {"untagged": {"width": 2}})
    assert (untagged.field, untagged.reason) == (
        "untagged.width",
        "unknown option 'width'. Options of inner: size",
    )


class Pair(Strict):
    corner: tuple[StrictInt, StrictInt]


def test_a_value_that_is_missing_at_the_end_of_a_list_is_named():
    error = refusal(Pair, {"corner": [1]})
    assert (error.field, error.reason) == ("corner.1", "expected a value; it is missing")
