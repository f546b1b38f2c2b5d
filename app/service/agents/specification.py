"""What the service makes of a specification: an agent to run, within the server's limits."""

from __future__ import annotations

from typing import Any

from app.agents import AgentSpec, make_agent
from app.agents.base import Agent
from app.errors import BudgetExceeded, InvalidValue
from app.planning.fast.planner import MAX_ACTIONS
from app.planning.problem import PlanBudget
from app.service.agents.spaces import StateCodec, state_codec
from app.wire.agents import Distribution, Specification
from app.wire.base import Strict
from app.wire.durations import duration_seconds
from app.wire.features import EventFeature, EventsFeatures, Features
from app.wire.spaces import Box
from app.wire.validation import parse

_TOO_MANY_CELLS = "lower the horizon, the number of states or the number of actions"


class Limits(Strict):
    """What one agent may need, from the settings."""

    max_states: int
    max_horizon: int
    max_cells: int
    budget: PlanBudget


def read_specification(stored: dict[str, Any]) -> Specification:
    """Parse a stored specification."""
    return parse(Specification, stored)


def agent_spec(specification: Specification) -> AgentSpec:
    """The specification that the agents take: states and actions are numbered."""
    states, observations = specification.states, None
    if isinstance(states, Box) and states.bins is None:
        observations = {"low": states.low, "high": states.high}
    codec = state_codec(states)
    data = {
        "states": states.size,
        "observations": observations,
        "actions": specification.actions.size,
        "horizon": specification.horizon,
        "features": _numbered(specification.features, codec),
        "algorithm": specification.algorithm,
        "seed": specification.seed,
        "initial_states": _start(specification, codec),
    }
    return parse(AgentSpec, data)


def with_default_features(specification: Specification) -> Specification:
    """The same specification, with the features of its agent kind where it names none."""
    features = specification.features or specification.algorithm.default_features
    return specification.model_copy(update={"features": features})


def timeout_seconds(specification: Specification) -> float | None:
    """How long a label may take; None for ever."""
    text = specification.label_timeout
    return None if text is None else duration_seconds(text)


def check_limits(specification: Specification, limits: Limits) -> dict[str, Any]:
    """Check a specification against the server's limits. Return the agent's notes."""
    S, A, H = specification.states.size, specification.actions.size, specification.horizon
    if limits.max_states < S:
        raise BudgetExceeded("states", S, limits.max_states, "lower the number of states")
    if limits.max_horizon < H:
        raise BudgetExceeded("horizon", H, limits.max_horizon, "lower the horizon")
    if A > MAX_ACTIONS:
        raise BudgetExceeded("actions", A, MAX_ACTIONS, "lower the number of actions")
    if limits.max_cells < H * S * A:
        what = "horizon x states x actions"
        raise BudgetExceeded(what, H * S * A, limits.max_cells, _TOO_MANY_CELLS)
    agent = make_agent(agent_spec(specification), limits.budget)
    agent.check_budget()
    return notes_of(agent)


def notes_of(agent: Agent[Any]) -> dict[str, Any]:
    """The progress and the warnings of an agent, as its view shows them."""
    return {"progress": agent.progress(), "warnings": agent.warnings()}


def _numbered(features: Features | None, codec: StateCodec) -> Features | None:
    """The features with the index of every state that they name."""
    if not isinstance(features, EventsFeatures):
        return features
    events = enumerate(features.events)
    numbered = [_numbered_event(event, f"features.events.{i}", codec) for i, event in events]
    return EventsFeatures(events=tuple(numbered))


def _numbered_event(event: EventFeature, place: str, codec: StateCodec) -> EventFeature:
    """The event with the index of every state; ``place`` is where the client wrote it."""
    changed: dict[str, Any] = {}
    for kind, given in event:
        if isinstance(given, tuple):
            changed[kind] = tuple(codec.encode(state, f"{place}.{kind}") for state in given)
        elif given is not None:
            changed[kind] = codec.encode(given, f"{place}.{kind}")
    return event.model_copy(update=changed)


def _start(specification: Specification, codec: StateCodec) -> tuple[float, ...] | None:
    """The distribution of the first state, one probability for each state."""
    given = specification.initial_states
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
    start = [0.0] * codec.size
    for state, chance in pairs:
        start[codec.encode(state, "initial_states")] += chance
    return tuple(start)
