"""Uniformly random actions: the baseline of every learning curve."""

from __future__ import annotations

from collections.abc import Sequence

from app.agents.base import Agent, Mode
from app.agents.kinds.uniform.options import UniformOptions
from app.learning.world.policy import Policy
from app.planning.policies.uniform import plan_uniform
from app.planning.problem import Plan


class Uniform(Agent[UniformOptions]):
    """Acts uniformly at random and does not learn."""

    def plan(
        self,
        episode: int,  # noqa: ARG002 - every kind takes them
        mode: Mode = "learn",  # noqa: ARG002
        pending: Sequence[Policy] = (),  # noqa: ARG002
        certify: bool = True,  # noqa: ARG002
    ) -> Plan:
        """The uniform policy, in every mode."""
        return plan_uniform(self.spec.actions, self.allowed)
