"""Find an agent by its name, or create it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from plaudit._core.flow import Flow
from plaudit._core.values import plain
from plaudit.answers.agents import AgentView
from plaudit.answers.values import Wait
from plaudit.endpoints.agents import create_agent, list_agents, read_agent
from plaudit.endpoints.body import SpaceLike, given, read_space, space
from plaudit.errors import InvalidArgument, UnknownAgent
from plaudit.problems import CreatedAndDeleted

Json = Mapping[str, object]


def find_or_create_agent(
    name: str,
    env: Any = None,
    *,
    states: SpaceLike | None = None,
    actions: SpaceLike | None = None,
    horizon: int | None = None,
    algorithm: str | Json | None = None,
    features: Json | None = None,
    seed: int | None = None,
    initial_states: Sequence[int | str] | Sequence[float] | Json | None = None,
    labels_wanted: int | None = None,
    label_timeout: str | None = None,
    default_label: int | None = None,
    running_timeout: str | None = None,
    allowed: Sequence[Json] | None = None,
    fallback_action: int | str | Sequence[Json] | None = None,
    deadline_ms: int | None = None,
    max_exploration: float | None = None,
    wait: Wait | None = None,
    metadata: Json | None = None,
    display: Json | None = None,
    question: str | None = None,
    guidelines: str | None = None,
    bins: int | Sequence[int] | None = None,
    low: float | Sequence[float] | None = None,
    high: float | Sequence[float] | None = None,
    action_bins: int | Sequence[int] | None = None,
) -> Flow[AgentView]:
    """The agent of a name or an id; it is created where no agent has the name.

    ``env`` is a Gymnasium environment, which then says what states and actions there are:
    ``bins``, ``low`` and ``high`` say how its numbers are cut, ``action_bins`` among how many
    values of a continuous action the agent chooses.

    An agent that is found must have the states, actions and horizon that are given. Programs
    that ask for the same agent at the same time get one and the same.
    """
    if env is not None:
        from plaudit.gym.description import describe
        from plaudit.gym.spaces import Cut

        described = describe(env, Cut(bins, low, high, action_bins), algorithm, horizon)
        states, actions, horizon = described.states, described.actions, described.horizon
        display = display or described.display
        metadata = {**described.metadata, **(metadata or {})}
    if name.startswith("agt_"):
        return (yield from read_agent(name))
    found = yield from _named(name)
    if found is not None:
        _check_same(found, states, actions, horizon)
        return found
    if states is None or actions is None or horizon is None:
        raise UnknownAgent(
            f"No agent is named {name!r}. Give states, actions and horizon, or an environment, to "
            "create it."
        )
    create = partial(
        create_agent,
        name,
        space(states, "states"),
        space(actions, "actions"),
        horizon,
        algorithm=algorithm,
        features=features,
        seed=seed,
        initial_states=initial_states,
        labels_wanted=labels_wanted,
        label_timeout=label_timeout,
        default_label=default_label,
        running_timeout=running_timeout,
        allowed=allowed,
        fallback_action=fallback_action,
        deadline_ms=deadline_ms,
        max_exploration=max_exploration,
        wait=wait,
        metadata=metadata,
        display=display,
        question=question,
        guidelines=guidelines,
    )
    try:
        return (yield from create(idempotency_key=_key(create)))
    except CreatedAndDeleted:
        return (yield from create())


def _key(create: partial[Flow[AgentView]]) -> str:
    """An Idempotency-Key made of the specification, so that it is created once.

    The server remembers it for a day, which is long enough for programs that start together.
    """
    import hashlib  # rarely needed, and slow to import

    words = json.dumps(plain([create.args, create.keywords]), sort_keys=True)
    return "agent-" + hashlib.sha256(words.encode()).hexdigest()


def _named(name: str) -> Flow[AgentView | None]:
    """The agent with a name, if there is one; two are an error."""
    found: list[AgentView] = []
    pages, cursor = list_agents(page_size=500), None
    while True:
        page = yield from pages.page(cursor)
        found += [agent for agent in page.items if agent.name == name]
        if (cursor := page.next) is None:
            break
    if len(found) > 1:
        ids = ", ".join(agent.id for agent in found)
        raise InvalidArgument(f"{len(found)} agents are named {name!r}: {ids}. Give an id instead.")
    if found and found[0].shortened:
        return (yield from read_agent(found[0].id))
    return found[0] if found else None


def _check_same(
    found: AgentView, states: SpaceLike | None, actions: SpaceLike | None, horizon: int | None
) -> None:
    """Refuse an agent that is not the one that was described."""
    described = {
        "states": None if states is None else read_space(states, "states"),
        "actions": None if actions is None else read_space(actions, "actions"),
        "horizon": None if horizon is None else int(horizon),
    }
    for field, wanted in described.items():
        held = getattr(found, field)
        if wanted is not None and wanted != held:
            raise InvalidArgument(
                f"Agent {found.name!r} ({found.id}) has {field} {_short(held)}, not "
                f"{_short(wanted)}. Choose another name, or delete that agent."
            )


def _short(value: object) -> str:
    shown = given(**vars(value)) if hasattr(value, "__dict__") else value
    text = str(shown)
    return text if len(text) < 200 else text[:200] + "…"
