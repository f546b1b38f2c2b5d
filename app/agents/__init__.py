"""Agents that learn from one label per episode; `kinds` holds one folder for each agent kind.

Importing this package loads no mathematics: `make_agent` and `restore_agent` load that of a kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.agents.kinds import AGENT_KINDS, DEFAULT_KIND, agent_class
from app.agents.spec import AgentSpec

if TYPE_CHECKING:
    from app.agents.base import Agent
    from app.planning.problem import PlanBudget


def make_agent(spec: AgentSpec, budget: PlanBudget | None = None) -> Agent[Any]:
    """Create an agent that has learned nothing yet."""
    return agent_class(spec.algorithm.kind)(spec, budget)


def restore_agent(spec: AgentSpec, snapshot: bytes, budget: PlanBudget | None = None) -> Agent[Any]:
    """Restore the agent that ``snapshot`` was taken from."""
    return agent_class(spec.algorithm.kind).restore(spec, snapshot, budget)


__all__ = ["AGENT_KINDS", "DEFAULT_KIND", "AgentSpec", "make_agent", "restore_agent"]
