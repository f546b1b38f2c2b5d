"""What a client asks for when it creates an agent, and what the mathematics makes of it."""

from __future__ import annotations

import re
from functools import cached_property, reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictFloat, StrictInt, StrictStr

from app.agents import AGENT_KINDS, Agent, AgentSpec
from app.agents.base import Options
from app.agents.spec import EventsFeatures, Features
from app.errors import BudgetExceeded, InvalidValue
from app.planning.fast.planner import MAX_ACTIONS
from app.planning.problem import PlanBudget
from app.service.agents.spaces import ActionSpace, Box, Name, StateSpace
from app.wire.base import Strict
from app.wire.validation import parse

_DURATION = re.compile(
    r"P(?:(?P<weeks>\d+)W|(?:(?P<days>\d+)D)?(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?"
    r"(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?)",
    re.ASCII,
)
_SECONDS = {"weeks": 604800, "days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
DEFAULT_KIND = "thompson"
LONGEST_TIMEOUT = 10 * 365 * 86400.0
LabelsWanted = Annotated[int, Field(ge=1, le=20, strict=True)]


def _with_kind(value: Any) -> Any:
    """The default kind where a client only gave options."""
    return {"kind": DEFAULT_KIND, **value} if isinstance(value, dict) else value


_options: Any = reduce(or_, [kind.options_type for kind in AGENT_KINDS.values()])
Algorithm = Annotated[_options, Field(discriminator="kind"), BeforeValidator(_with_kind)]


class Distribution(Strict):
    """First states with their probabilities."""

    states: tuple[StrictInt | StrictStr, ...] = Field(
        min_length=1, description="as they are sent in steps", examples=[[0, 4]]
    )
    probabilities: tuple[StrictFloat, ...] = Field(
        min_length=1, description="one for each, one in all", examples=[[0.25, 0.75]]
    )


class GridDisplay(Strict):
    """States drawn as squares, numbered row by row."""

    kind: Literal["grid"] = Field(default="grid", description="this drawing")
    rows: int = Field(ge=1, le=1000, strict=True, description="how many rows", examples=[4])
    cols: int = Field(ge=1, le=1000, strict=True, description="how many columns", examples=[4])


class NamesDisplay(Strict):
    """States shown by name."""

    kind: Literal["names"] = Field(default="names", description="this drawing")
    values: tuple[Name, ...] = Field(
        min_length=1,
        description="one name for each state, in their order",
        examples=[["start", "ice", "hole", "goal"]],
    )


Display = Annotated[GridDisplay | NamesDisplay, Field(discriminator="kind")]


class Limits(Strict):
    """What an agent may need, from the settings."""

    max_states: int
    max_horizon: int
    max_cells: int
    budget: PlanBudget


class Specification(Strict):
    """Everything that fixes how an agent learns and acts."""

    states: StateSpace = Field(description="what the agent is told at every step")
    actions: ActionSpace = Field(description="what it can answer")
    horizon: int = Field(
        ge=1, le=2**31 - 1, strict=True, description="steps of an episode", examples=[100]
    )
    features: Features | None = Field(
        default=None,
        description="what a verdict may depend on; by default `auto` for `thompson`, "
        "one-hot over step, state and action for the paper's kinds",
    )
    algorithm: Algorithm = Field(
        default_factory=AGENT_KINDS[DEFAULT_KIND].options_type,
        description="the agent kind and its options",
    )
    seed: int = Field(
        default=0,
        ge=0,
        lt=2**63,
        strict=True,
        description="the same seed and the same requests give the same actions",
    )
    initial_states: (
        tuple[StrictInt | StrictStr, ...] | tuple[StrictFloat, ...] | Distribution | None
    ) = Field(
        default=None,
        description="where episodes start, where that is known: a list of states, all as likely; "
        "one probability for every state; or `states` with their `probabilities`",
    )
    labels_wanted: LabelsWanted = Field(
        default=1, description="labellers who judge each of its episodes; all of them count"
    )
    label_timeout: str | None = Field(
        default=None,
        description="ISO 8601 duration (weeks to seconds) after which `default_label` is given, or "
        "an episode that wants more labels is content with those it has",
        examples=["PT24H"],
    )
    default_label: Literal[0, 1] | None = Field(
        default=None,
        description="given when `label_timeout` has passed without any label; null gives the "
        "episode up",
    )

    @cached_property
    def agent_spec(self) -> AgentSpec:
        """What the mathematics takes."""
        observations = None
        if isinstance(self.states, Box) and self.states.bins is None:
            observations = {"low": self.states.low, "high": self.states.high}
        data = {
            "states": self.states.size,
            "observations": observations,
            "actions": self.actions.size,
            "horizon": self.horizon,
            "features": self._features(),
            "algorithm": self.options.model_dump(),
            "seed": self.seed,
            "initial_states": self._start(),
        }
        return parse(AgentSpec, data)

    def whole(self) -> Specification:
        """The same with the features that the agent kind takes where none were chosen."""
        default = AGENT_KINDS[self.options.kind].default_features
        return self.model_copy(update={"features": self.features or default})

    @property
    def options(self) -> Options:
        """The options of the agent kind."""
        options: Options = self.algorithm
        return options

    @cached_property
    def timeout_seconds(self) -> float | None:
        """How long a label may take."""
        if self.label_timeout is None:
            return None
        match = _DURATION.fullmatch(self.label_timeout)
        parts = {k: float(v) for k, v in match.groupdict().items() if v} if match else {}
        seconds = sum(_SECONDS[unit] * count for unit, count in parts.items())
        if not parts or not 0 < seconds <= LONGEST_TIMEOUT:
            raise InvalidValue(
                "label_timeout", "an ISO 8601 duration such as PT30M or P2D, at most ten years"
            )
        return seconds

    def check(self, limits: Limits) -> dict[str, Any]:
        """Refuse what could not be served, before any of it is allocated; what there is to note."""
        _ = self.timeout_seconds
        S, A, H = self.states.size, self.actions.size, self.horizon
        if limits.max_states < S:
            raise BudgetExceeded("states", S, limits.max_states, "lower the number of states")
        if limits.max_horizon < H:
            raise BudgetExceeded("horizon", H, limits.max_horizon, "lower the horizon")
        if A > MAX_ACTIONS:
            raise BudgetExceeded("actions", A, MAX_ACTIONS, "lower the number of actions")
        cells = H * S * A
        if cells > limits.max_cells:
            raise BudgetExceeded(
                "horizon x states x actions",
                cells,
                limits.max_cells,
                "lower the horizon, the number of states or the number of actions",
            )
        kind = AGENT_KINDS[self.options.kind]
        agent = kind(self.agent_spec, limits.budget)
        agent.check_budget()
        return notes_of(agent)

    def _features(self) -> Features | None:
        """The features, with numbers for the states that they name."""
        if isinstance(self.features, EventsFeatures):
            return self.features.numbered(self.states.encode)
        return self.features

    def _start(self) -> tuple[float, ...] | None:
        given = self.initial_states
        if given is None:
            return None
        if isinstance(given, Distribution):
            if len(given.states) != len(given.probabilities):
                raise InvalidValue("initial_states.probabilities", "one for each of the states")
            pairs = zip(given.states, given.probabilities, strict=True)
        elif given and all(isinstance(part, float) for part in given):
            return tuple(float(part) for part in given)
        elif given:
            pairs = zip(given, [1.0 / len(given)] * len(given), strict=True)  # type: ignore[arg-type]
        else:
            raise InvalidValue("initial_states", "at least one state")
        start = [0.0] * self.states.size
        for state, chance in pairs:
            start[self.states.encode(state, "initial_states")] += chance
        return tuple(start)


def notes_of(agent: Agent[Any]) -> dict[str, Any]:
    """What a client should know of an agent beside its numbers."""
    return {"progress": agent.progress(), "warnings": agent.warnings()}


def read_specification(stored: dict[str, Any]) -> Specification:
    """A specification as it was stored."""
    return parse(Specification, stored)
