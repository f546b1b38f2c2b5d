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
from app.service.agents.spaces import StateCodec, action_codec, state_codec
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
        "allowed": tuple(allowed_actions(specification).items()),
    }
    return parse(AgentSpec, data)


def allowed_actions(specification: Specification) -> dict[int, tuple[int, ...]]:
    """The possible actions of the states that have limits, all by their indices."""
    states, actions = state_codec(specification.states), action_codec(specification.actions)
    allowed: dict[int, tuple[int, ...]] = {}
    for i, given in enumerate(specification.allowed):
        if specification.algorithm.observes:
            expected = "nothing: these states are numbers. Send the allowed actions with each step"
            raise InvalidValue("allowed", expected)
        state = states.encode(given.state, f"allowed.{i}.state")
        if state in allowed:
            raise InvalidValue(f"allowed.{i}.state", "a state that is not listed before")
        named = enumerate(given.actions)
        indices = {actions.encode(action, f"allowed.{i}.actions.{j}") for j, action in named}
        allowed[state] = tuple(sorted(indices))
    return allowed


def fallback_actions(specification: Specification) -> tuple[int, ...] | None:
    """The fallback action of each state by its index; one for all where states are numbers."""
    given, actions = specification.fallback_action, action_codec(specification.actions)
    if given is None:
        return None
    codec = state_codec(specification.states)
    size = 1 if specification.algorithm.observes else codec.size
    chosen: dict[int, int] = {}
    if not isinstance(given, tuple):
        chosen = dict.fromkeys(range(size), actions.encode(given, "fallback_action"))
    elif specification.algorithm.observes:
        raise InvalidValue("fallback_action", "one action: these states are numbers")
    else:
        for i, one in enumerate(given):
            state = codec.encode(one.state, f"fallback_action.{i}.state")
            chosen[state] = actions.encode(one.action, f"fallback_action.{i}.action")
        if len(chosen) < size:
            missing = next(state for state in range(size) if state not in chosen)
            expected = f"an action for every state: there is none for {codec.decode(missing)!r}"
            raise InvalidValue("fallback_action", expected)
    for state, possible in allowed_actions(specification).items():
        if chosen[state] not in possible:
            expected = f"an action that is allowed in state {codec.decode(state)!r}"
            raise InvalidValue("fallback_action", expected)
    return tuple(chosen[state] for state in range(size))


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
    fallback_actions(specification)
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
