"""An agent's model and its policies as JSON documents."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from typing import Literal

from app.agents.insight import Follower, Insight, ModelDocument, Transition
from app.errors import InvalidValue
from app.service.agents.hosted_agent import HostedAgent, HostedPlan
from app.service.runtime.cache import Cache
from app.service.runtime.ids import read_agent_id
from app.storage.rows import EpisodeMode
from app.wire.base import JsonObject

GENERATOR = "splitmix64"


@dataclass(frozen=True)
class PolicyDocument:
    """A policy that a client can run by itself; docs/policy.md says how."""

    agent: HostedAgent
    plan: HostedPlan
    episode: int  # the number of the episode that its random numbers are for

    @property
    def tag(self) -> str:
        """Identifies the document; it changes with its content."""
        return f"{self.plan.version}.{self.plan.episode}.{self.episode}"

    def content(self) -> JsonObject:
        """The document itself, with its tables as arrays."""
        return policy_document(self.agent, self.plan, self.episode)


class Documents:
    """Finds models and policies."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    async def model(self, agent: str) -> JsonObject:
        """What an agent believes."""
        hosted = await self._cache.agent(read_agent_id(agent))
        insight = await self._cache.insight(hosted)
        return await asyncio.to_thread(model_document, hosted, insight)

    async def policy(
        self, agent: str, mode: Literal["learn", "exploit"], episode: str | None
    ) -> PolicyDocument:
        """The policy of the next episode, or the one that a running episode is pinned to."""
        hosted = await self._cache.agent(read_agent_id(agent))
        if episode is None:
            number = hosted.next_episode
            return PolicyDocument(hosted, hosted.plan_for(number, EpisodeMode(mode)), number)
        pinned = await self._cache.episode(episode)
        if pinned.agent is not hosted or pinned.plan is None:
            raise InvalidValue("?episode", "a running episode of this agent")
        return PolicyDocument(hosted, pinned.plan, pinned.number)


def model_document(agent: HostedAgent, insight: Insight | None) -> JsonObject:
    """The learned weights, visit counts, transition estimate and bonuses."""
    head: JsonObject = {"agent": agent.id, "policy_version": agent.version}
    model = None if insight is None else insight.document()
    if model is None:
        return head | dict.fromkeys(field.name for field in fields(ModelDocument))
    transitions = None
    if model.transitions is not None:
        transitions = [_transition(agent, transition) for transition in model.transitions]
    optimism = None if model.optimism is None else vars(model.optimism)
    return head | vars(model) | {"transitions": transitions, "optimism": optimism}


def _transition(agent: HostedAgent, transition: Transition) -> JsonObject:
    """One transition with the states and actions as the client writes them."""
    return {
        "state": agent.states.decode(transition.state),
        "action": agent.actions.decode(transition.action),
        "followers": [_follower(agent, follower) for follower in transition.followers],
    }


def _follower(agent: HostedAgent, follower: Follower) -> JsonObject:
    state = None if follower.state is None else agent.states.decode(follower.state)
    return {"state": state, "ended": follower.ended, "probability": follower.probability}


def policy_document(agent: HostedAgent, plan: HostedPlan, episode: int) -> JsonObject:
    """A policy with everything that a client needs to run it."""
    policy = plan.policy
    return {
        "agent": agent.id,
        "policy_version": plan.version,
        "episode_number": episode,
        "label_required": plan.label_required,
        "horizon": agent.horizon,
        "seed": str(agent.seed),  # 63 bits; a JSON number may lose some of them
        "generator": GENERATOR,
        "states": agent.specification.states.model_dump(mode="json"),
        "actions": agent.specification.actions.model_dump(mode="json"),
        "allowed": [
            {"state": state, "actions": list(actions)} for state, actions in agent.allowed.items()
        ],
        "policy": {
            "kind": policy.kind,
            **policy.arrays(),
        },
    }
