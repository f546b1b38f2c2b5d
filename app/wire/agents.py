"""Agents, as clients create, change and see them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field, StrictBool

from app.service.agents.specification import Display, Specification
from app.wire.base import Answer, Learning, Metadata, ShortText, Wire


class NewAgent(Specification):
    """An agent to create."""

    name: ShortText = Field(description="for people", examples=["lake"])
    metadata: Metadata = Field(default={}, description="anything of yours, kept as it is")
    display: Display | None = Field(default=None, description="how pages draw a state")


class AgentChanges(Wire):
    """What can be changed of an agent: nothing that touches learning. What is left out stays."""

    # The defaults only stand for what was left out; they are made, so that none is shown as one.
    name: ShortText = Field(default_factory=str, description="for people")
    metadata: Metadata = Field(
        default_factory=dict, description="anything of yours; replaces what there was"
    )
    display: Display | None = Field(
        default=None, description="how pages draw a state; null draws it plainly"
    )
    paused: StrictBool = Field(
        default_factory=bool, description="a paused agent starts no episodes; it still learns"
    )


class EpisodeCounts(Answer):
    """How many episodes an agent has, by status."""

    running: int = Field(description="still being played")
    awaiting_label: int = Field(description="over, and not all the labels that they want are there")
    labelled: int = Field(description="judged")
    completed: int = Field(description="over, and no label is needed")
    abandoned: int = Field(description="given up")


class PlanView(Answer):
    """The plan in force."""

    planner: str = Field(description="what made it")
    value: float = Field(description="the optimistic value at the start")
    gap: float = Field(description="certified distance to the best policy of the learned model")
    seconds: float = Field(description="how long that took")


class AgentView(Specification):
    """An agent: its specification and where it stands."""

    id: str = Field(examples=["agt_0123456789"], description="opaque")
    name: str = Field(description="for people")
    metadata: Metadata = Field(description="yours, as it was given")
    display: Display | None = Field(description="how pages draw a state")
    paused: bool = Field(description="whether it starts no episodes")
    created_at: datetime = Field(description="when it was created")
    episodes: EpisodeCounts = Field(description="how many it has, by status")
    policy_version: int = Field(
        description="the number of the last event (episode over, label given or taken back) that "
        "the policy in force has learned from; it never goes back"
    )
    learning: Learning
    learning_error: str | None = Field(description="why learning failed, if it did")
    success_rate: float | None = Field(description="share of good labels")
    plan: PlanView | None = Field(description="the plan in force; null before the first")
    progress: dict[str, Any] = Field(description="where the agent kind is on its way")
    warnings: list[str] = Field(description="what is allowed but likely not meant")


class AgentPage(Answer):
    """Some agents, and where the next ones begin."""

    items: list[AgentView] = Field(description="in the order they were created")
    next: str | None = Field(description="pass it as `cursor` to read on; null at the end")
