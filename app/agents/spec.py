"""What a client asks for: spaces, features, algorithm and seed, as the HTTP API spells them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    Field,
    StrictInt,
    StrictStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from app.errors import InvalidValue
from app.learning.arrays import Floats
from app.learning.features.base import FeatureMap
from app.learning.features.events import SIZES, Event, Events
from app.learning.features.one_hot import OneHot
from app.learning.features.table import Table
from app.learning.spaces import Spaces
from app.wire.base import Strict

Part = Literal["step", "state", "action"]
NamedState = StrictInt | StrictStr  # a state's number, or its name where a client has names
Bound = Annotated[float, Field(ge=-1e9, le=1e9)]


class LastSteps(Strict):
    """The last ``last`` steps of the horizon."""

    last: int = Field(ge=1, strict=True, description="how many", examples=[3])


class OneHotFeatures(Strict):
    """How often each combination of the chosen parts occurred at the chosen steps."""

    kind: Literal["one_hot"] = Field(default="one_hot", description="these features")
    over: tuple[Part, ...] = Field(
        min_length=1, description="what is told apart", examples=[["state"], ["state", "action"]]
    )
    steps: Literal["all", "last"] | LastSteps | tuple[StrictInt, ...] = Field(
        default="all",
        description="which steps count: all, the last, the last few, or a list counted from 0",
    )

    def build(self, spaces: Spaces) -> FeatureMap:
        """The map over these spaces."""
        parts = set(self.over)
        return OneHot(
            spaces, "step" in parts, "state" in parts, "action" in parts, self._chosen(spaces)
        )

    def _chosen(self, spaces: Spaces) -> tuple[int, ...]:
        H = spaces.horizon
        if self.steps == "all":
            return tuple(range(H))
        if self.steps == "last":
            return (H - 1,)
        if isinstance(self.steps, LastSteps):
            if self.steps.last > H:
                raise InvalidValue("features.steps.last", f"at most the horizon, {H}")
            return tuple(range(H - self.steps.last, H))
        return tuple(sorted(self.steps))


class TableFeatures(Strict):
    """The client's own features, nested lists of shape (S, A, d) or (H, S, A, d)."""

    kind: Literal["table"] = Field(default="table", description="these features")
    values: list[Any] = Field(
        description="nested lists of numbers", examples=[[[[0.0, 1.0]], [[1.0, 0.0]]]]
    )

    def build(self, spaces: Spaces) -> FeatureMap:
        """The map over these spaces."""
        try:
            values = np.array(self.values)
        except (ValueError, TypeError, OverflowError) as error:
            raise InvalidValue("features.values", "nested lists of numbers, none ragged") from error
        if values.dtype.kind not in "iuf":  # NumPy would make numbers of texts and of null
            raise InvalidValue("features.values", "nested lists of numbers, none ragged")
        if values.ndim < 3:
            raise InvalidValue("features.values", "shape (S, A, d) or (H, S, A, d)")
        return Table(spaces, values.astype(np.float64))


class EventFeature(Strict):
    """Something that happens in an episode or does not; exactly one of the fields is given."""

    visited: NamedState | None = Field(
        default=None, description="a state: some step was spent in it"
    )
    both: tuple[NamedState, ...] | None = Field(
        default=None, description="two states: both were visited, in any order"
    )
    then: tuple[NamedState, ...] | None = Field(
        default=None, description="two states: the first was visited, the second at a later step"
    )

    def numbered(self, place: str, number: Callable[[object, str], int]) -> EventFeature:
        """The same with the number of every state; ``place`` is where the client wrote it."""
        changed: dict[str, Any] = {}
        for kind in SIZES:
            given = getattr(self, kind)
            if isinstance(given, tuple):
                changed[kind] = tuple(number(state, f"{place}.{kind}") for state in given)
            elif given is not None:
                changed[kind] = number(given, f"{place}.{kind}")
        return self.model_copy(update=changed)

    def build(self, place: str) -> Event:
        """The event, its states numbered; ``place`` is where the client wrote it."""
        given = [kind for kind in SIZES if getattr(self, kind) is not None]
        if len(given) != 1:
            raise InvalidValue(place, f"exactly one of {', '.join(SIZES)}")
        states = getattr(self, given[0])
        states = states if isinstance(states, tuple) else (states,)
        if not all(isinstance(state, int) for state in states):
            raise InvalidValue(f"{place}.{given[0]}", "numbers of states")
        try:
            return Event(given[0], states)
        except InvalidValue as error:
            raise InvalidValue(f"{place}.{error.field}", error.expected) from error


class EventsFeatures(Strict):
    """Whether each of these events happened at any time in the episode."""

    kind: Literal["events"] = Field(default="events", description="these features")
    events: tuple[EventFeature, ...] = Field(
        min_length=1,
        max_length=1000,
        description="one feature each",
        examples=[[{"visited": 3}, {"then": [0, 2]}]],
    )

    def numbered(self, number: Callable[[object, str], int]) -> EventsFeatures:
        """The same with the number of every state, where a client has names for them."""
        events = [
            event.numbered(f"features.events.{i}", number) for i, event in enumerate(self.events)
        ]
        return EventsFeatures(events=tuple(events))

    def build(self, spaces: Spaces) -> Events:
        """The features over these spaces."""
        made = [event.build(f"features.events.{i}") for i, event in enumerate(self.events)]
        return Events(spaces, tuple(made))


class AutoFeatures(Strict):
    """Several maps compete and the data choose, for users who do not know what matters."""

    kind: Literal["auto"] = Field(default="auto", description="these features")


Features = Annotated[
    OneHotFeatures | TableFeatures | EventsFeatures | AutoFeatures, Field(discriminator="kind")
]


class Box(Strict):
    """Numbers that an agent sees as they are, each with the bounds it is scaled by."""

    low: tuple[Bound, ...] = Field(min_length=1, max_length=1024)
    high: tuple[Bound, ...] = Field(min_length=1, max_length=1024)

    @field_validator("high")
    @classmethod
    def _above_low(cls, high: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        low = info.data.get("low", high)
        if len(low) != len(high):
            raise ValueError(f"{len(low)} numbers, as many as low has")
        if "low" in info.data and not all(
            one < other for one, other in zip(low, high, strict=True)
        ):
            raise ValueError("numbers above those of low")
        return high

    @property
    def size(self) -> int:
        """How many numbers are seen."""
        return len(self.low)


class AgentSpec(Strict):
    """Everything that fixes an agent: with the same episodes and labels it acts the same.

    An agent acts in numbered ``states``, or sees ``observations``; then ``states`` is 1.
    """

    states: int = Field(ge=1, strict=True)
    observations: Box | None = None
    actions: int = Field(ge=1, strict=True)
    horizon: int = Field(ge=1, strict=True)
    features: Features | None = None
    algorithm: dict[str, Any] = Field(default={"kind": "thompson"})
    seed: int = Field(default=0, ge=0, lt=2**63, strict=True)
    initial_states: tuple[float, ...] | None = None  # a distribution over the states

    @model_validator(mode="before")
    @classmethod
    def _one_state(cls, data: Any) -> Any:
        """With observations there are no states to count."""
        if isinstance(data, dict) and data.get("observations") is not None:
            return {"states": 1} | data
        return data

    def check_states(self, observes: bool) -> None:
        """Refuse what a kind cannot act on: one ``observes`` numbers, the others count states."""
        if observes and self.observations is None:
            raise InvalidValue("states", "numbers without bins: this kind sees them as they are")
        if not observes and self.observations is not None:
            raise InvalidValue("states", "bins for every number: this kind counts states")
        if observes and self.states != 1:
            raise InvalidValue("states", "1, because observations take their place")

    @property
    def spaces(self) -> Spaces:
        """The spaces as the mathematics takes them."""
        return Spaces(self.states, self.actions, self.horizon)

    def start(self) -> Floats | None:
        """The distribution of the first state, when the client knows it."""
        if self.initial_states is None:
            return None
        start = np.array(self.initial_states)
        if start.shape != (self.states,) or (start < 0).any() or abs(start.sum() - 1.0) > 1e-9:
            raise InvalidValue("initial_states", f"{self.states} probabilities that sum to one")
        return start
