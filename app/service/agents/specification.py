"""Specifications: check them against the server's limits, and convert them for agents."""

from __future__ import annotations

from typing import Any

from app.agents import AgentSpec, make_agent
from app.agents.base import Agent
from app.agents.cost import Cost, slowness
from app.agents.spec import UNBOUNDED
from app.errors import BudgetExceeded, InvalidValue
from app.planning.fast.planner import MAX_ACTIONS
from app.planning.problem import PlanBudget
from app.service.agents.spaces import StateCodec, state_codec
from app.wire.agents import Distribution, Specification
from app.wire.base import JsonObject, Strict, duration_seconds
from app.wire.specification.features import (
    AutomatonFeatures,
    EventFeature,
    EventsFeatures,
    Features,
    TableFeatures,
)
from app.wire.specification.spaces import Box, Labels
from app.wire.validation import parse

_TOO_MANY_CELLS = "lower the horizon, the number of states or the number of actions"


class Limits(Strict):
    """What one agent may need, from the settings."""

    max_states: int
    max_horizon: int
    max_cells: int
    max_features: int
    job_seconds: float  # predicted, of one learning job
    job_bytes: float
    budget: PlanBudget


def read_specification(stored: JsonObject) -> Specification:
    """Parse a stored specification."""
    return parse(Specification, stored)


def agent_spec(specification: Specification) -> AgentSpec:
    """The specification that the agents take: states and actions are numbered."""
    states, observations = specification.states, None
    if isinstance(states, Box) and states.bins is None:
        if specification.algorithm.needs_bounds and None in (*states.low, *states.high):
            raise InvalidValue("states", "numbers instead of null: this kind scales by the bounds")
        observations = {
            "low": [-UNBOUNDED if low is None else low for low in states.low],
            "high": [UNBOUNDED if high is None else high for high in states.high],
        }
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


def due(timeout: str | None, now: int) -> int | None:
    """When a timeout that begins ``now`` is over; None without one."""
    return None if timeout is None else now + int(1000 * duration_seconds(timeout))


def check_limits(specification: Specification, limits: Limits) -> JsonObject:
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
    _check_lists(specification, limits)
    agent = make_agent(agent_spec(specification), limits.budget)
    agent.check_budget()
    _check_job(agent, limits)
    return notes_of(agent)


def _check_job(agent: Agent[Any], limits: Limits) -> None:
    """Refuse an agent whose learning jobs would take too long or too much memory."""
    cost = agent.job_cost()
    check_seconds(cost, limits.job_seconds, _TOO_MANY_CELLS)
    if cost.bytes > limits.job_bytes:
        what = "predicted bytes of a learning job"
        raise BudgetExceeded(what, cost.bytes, limits.job_bytes, _TOO_MANY_CELLS)


def check_seconds(cost: Cost, allowed: float, advice: str) -> None:
    """Refuse a job that would take too long on this machine."""
    seconds = cost.seconds * slowness()
    if seconds > allowed:
        raise BudgetExceeded("predicted seconds of a learning job", seconds, allowed, advice)


def _check_lists(specification: Specification, limits: Limits) -> None:
    """Check lengths of lists that depend on each other, so that the schema cannot bound them."""
    given, states = specification.initial_states, specification.states.size
    length = len(given.states if isinstance(given, Distribution) else given or ())
    if length > states:
        raise InvalidValue("initial_states", f"at most {states} entries, one for each state")
    for field, space in (("states", specification.states), ("actions", specification.actions)):
        if isinstance(space, Labels) and not all(name.strip() for name in space.values):
            raise InvalidValue(f"{field}.values", "names that are not blank")
    dimension = _dimension(specification.features)
    if dimension > limits.max_features:
        lower = "lower the number of features"
        raise BudgetExceeded("features", dimension, limits.max_features, lower)


def _dimension(features: Features | None) -> int:
    """The length of the first vector of a table or an automaton; 0 for other features."""
    if isinstance(features, TableFeatures):
        inner: object = features.values
    elif isinstance(features, AutomatonFeatures):
        inner = features.vectors
    else:
        return 0
    while isinstance(inner, list) and inner and isinstance(inner[0], list):
        inner = inner[0]
    return len(inner) if isinstance(inner, list) else 0


def notes_of(agent: Agent[Any]) -> JsonObject:
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
    changed: JsonObject = {}
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
