"""The agents, one file per kind, and their registry.

A new kind is one new file and one line here; the contract suite in the tests then runs over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.agents.base import Agent
from app.agents.kinds.reinforce.agent import Reinforce
from app.agents.kinds.thompson.agent import Thompson
from app.agents.kinds.ucbvi.agent import Ucbvi
from app.agents.kinds.ucbvi_exact.agent import UcbviExact
from app.agents.kinds.ucbvi_explore.agent import UcbviExplore
from app.agents.kinds.uniform.agent import Uniform
from app.agents.spec import AgentSpec
from app.errors import InvalidValue
from app.planning.problem import PlanBudget

AGENT_KINDS: Mapping[str, type[Agent[Any]]] = MappingProxyType(
    {
        "thompson": Thompson,
        "ucbvi": Ucbvi,
        "ucbvi_exact": UcbviExact,
        "ucbvi_explore": UcbviExplore,
        "reinforce": Reinforce,
        "uniform": Uniform,
    }
)


def agent_kind(spec: AgentSpec) -> type[Agent[Any]]:
    """The class of the kind that a specification names."""
    kind = spec.algorithm.get("kind", "thompson")
    if not isinstance(kind, str) or kind not in AGENT_KINDS:
        raise InvalidValue("algorithm.kind", f"one of {', '.join(AGENT_KINDS)}")
    return AGENT_KINDS[kind]


def make_agent(spec: AgentSpec, budget: PlanBudget | None = None) -> Agent[Any]:
    """A new agent that has learned nothing yet."""
    return agent_kind(spec)(spec, budget)


def restore_agent(spec: AgentSpec, snapshot: bytes, budget: PlanBudget | None = None) -> Agent[Any]:
    """The agent that ``snapshot`` was taken from."""
    return agent_kind(spec).restore(spec, snapshot, budget)


__all__ = ["AGENT_KINDS", "Agent", "AgentSpec", "agent_kind", "make_agent", "restore_agent"]
