"""Feature specifications: what a verdict may depend on, as clients write it.

These are plain data. `app.agents.build_features` turns them into feature maps.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, StrictStr

from app.wire.base import MOST_ITEMS, Strict

Part = Literal["step", "state", "action"]
NamedState = (
    StrictInt | Annotated[StrictStr, Field(max_length=200)]
)  # a state's number, or its name where the client has names


class LastSteps(Strict):
    """The last ``last`` steps of the horizon."""

    last: int = Field(ge=1, le=2**31 - 1, strict=True, description="how many", examples=[3])


class OneHotFeatures(Strict):
    """How often each combination of the chosen parts occurred at the chosen steps."""

    kind: Literal["one_hot"] = Field(default="one_hot", description="these features")
    over: tuple[Part, ...] = Field(
        min_length=1,
        max_length=3,
        description="the parts that are combined",
        examples=[["state"], ["state", "action"]],
    )
    steps: (
        Literal["all", "last"]
        | LastSteps
        | Annotated[tuple[StrictInt, ...], Field(max_length=MOST_ITEMS)]
    ) = Field(
        default="all",
        description="which steps count: all, the last, the last few, or a list counted from 0",
    )


class TableFeatures(Strict):
    """The client's own features, nested lists of shape (S, A, d) or (H, S, A, d)."""

    kind: Literal["table"] = Field(default="table", description="these features")
    values: list[Any] = Field(
        max_length=MOST_ITEMS,
        description="nested lists of numbers",
        examples=[[[[0.0, 1.0]], [[1.0, 0.0]]]],
    )


class EventFeature(Strict):
    """Something that happens in an episode or does not; exactly one of the fields is given."""

    visited: NamedState | None = Field(
        default=None, description="a state: some step was spent in it"
    )
    both: tuple[NamedState, ...] | None = Field(
        default=None,
        max_length=MOST_ITEMS,
        description="two states: both were visited, in any order",
    )
    then: tuple[NamedState, ...] | None = Field(
        default=None,
        max_length=MOST_ITEMS,
        description="two states: the first was visited, the second at a later step",
    )


class EventsFeatures(Strict):
    """Whether each of these events happened at any time in the episode."""

    kind: Literal["events"] = Field(default="events", description="these features")
    events: tuple[EventFeature, ...] = Field(
        min_length=1,
        max_length=1000,
        description="one feature each",
        examples=[[{"visited": 3}, {"then": [0, 2]}]],
    )


class AutomatonFeatures(Strict):
    """A finite automaton that reads (state, action) at each step; its last state has the features.

    It begins in its state 0. Any regular property of an episode can be given this way.
    """

    kind: Literal["automaton"] = Field(default="automaton", description="these features")
    transitions: list[Any] = Field(
        min_length=1,
        max_length=4096,
        description="the automaton's next state, nested lists of shape (M, S, A), or (M, S) where "
        "the action does not matter: M states of the automaton, S states, A actions",
        examples=[[[0, 1], [1, 1]]],
    )
    vectors: list[Any] = Field(
        min_length=1,
        max_length=4096,
        description="nested lists of numbers of shape (M, d): d features for each state of the "
        "automaton",
        examples=[[[0.0], [1.0]]],
    )
    ends: list[Any] | None = Field(
        default=None,
        min_length=1,
        max_length=4096,
        description="the automaton's state after an episode that ends early, by the state it ended "
        "in, of shape (M, S); left out: an end changes nothing",
    )


class AutoFeatures(Strict):
    """Several maps compete and the data choose, for users who do not know what matters."""

    kind: Literal["auto"] = Field(default="auto", description="these features")


Features = Annotated[
    OneHotFeatures | TableFeatures | EventsFeatures | AutomatonFeatures | AutoFeatures,
    Field(discriminator="kind"),
]
