"""Agents: create, list, read, change, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plaudit._core.flow import Flow, Request, json_request
from plaudit._core.parsing import parse
from plaudit._core.session import Page, Pager
from plaudit.answers.agents import AgentView, GuidelinesView
from plaudit.answers.values import Wait
from plaudit.endpoints.body import (
    LEFT_OUT,
    LeftOut,
    SpaceLike,
    check_removed,
    given,
    idempotent,
    path,
    space,
    stated,
)
from plaudit.endpoints.paging import page_request, read_page

Json = Mapping[str, object]


def create_agent(
    name: str,
    states: SpaceLike,
    actions: SpaceLike,
    horizon: int,
    *,
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
    idempotency_key: str | None = None,
) -> Flow[AgentView]:
    """Create an agent.

    ``states`` and ``actions`` are a number (16 is 0 to 15), a list of names, or a `Space`;
    ``algorithm`` is a kind such as "thompson", or a kind with its options. ``allowed`` lists
    ``{"state": …, "actions": […]}`` for states in which not every action is possible.
    """
    body = given(
        name=name,
        states=space(states, "states"),
        actions=space(actions, "actions"),
        horizon=horizon,
        algorithm={"kind": algorithm} if isinstance(algorithm, str) else algorithm,
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
    reply = yield json_request("POST", path("agents"), body, idempotent(idempotency_key))
    return parse(AgentView, reply.json())


def list_agents(page_size: int = 100) -> Pager[AgentView]:
    """Iterate over all agents in the order they were created."""

    def page(cursor: str | None) -> Flow[Page[AgentView]]:
        reply = yield page_request(path("agents"), page_size, cursor)
        return read_page(AgentView, reply.json())

    return Pager(page)


def read_agent(agent: str) -> Flow[AgentView]:
    """Read an agent: its specification and where it stands."""
    return (yield from read_agent_after(0.0, agent))


def read_agent_after(seconds: float, agent: str) -> Flow[AgentView]:
    """Read an agent after a pause."""
    reply = yield Request("GET", path("agents", agent), delay=seconds)
    return parse(AgentView, reply.json())


def change_agent(
    agent: str,
    *,
    name: str | LeftOut = LEFT_OUT,
    metadata: Json | LeftOut = LEFT_OUT,
    display: Json | LeftOut | None = LEFT_OUT,
    paused: bool | LeftOut = LEFT_OUT,
    question: str | LeftOut | None = LEFT_OUT,
    guidelines: str | LeftOut | None = LEFT_OUT,
    examples: Json | LeftOut | None = LEFT_OUT,
) -> Flow[AgentView]:
    """Change what does not touch learning, or pause the agent. What is left out stays.

    ``examples`` has the ids of ``good`` and ``bad`` episodes that labellers are shown.
    """
    body = stated(
        name=name,
        metadata=metadata,
        display=display,
        paused=paused,
        question=question,
        guidelines=guidelines,
        examples=examples,
    )
    reply = yield json_request("PATCH", path("agents", agent), body)
    return parse(AgentView, reply.json())


def list_guidelines(agent: str) -> Flow[list[GuidelinesView]]:
    """Every version of an agent's question and guidelines, oldest first."""
    reply = yield Request("GET", path("agents", agent, "guidelines"))
    return read_page(GuidelinesView, reply.json()).items


def delete_agent(agent: str) -> Flow[None]:
    """Delete an agent with all its episodes."""
    reply = yield Request("DELETE", path("agents", agent))
    check_removed(reply)
