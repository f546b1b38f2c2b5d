"""Optimism in the face of uncertainty: the practical form of the paper's Algorithms 1 and 3.

In logit space the weight of every cell is raised by a multiple of its uncertainty before the
logistic function, which keeps the value a probability and needs one accumulator. In reward space
the paper's own objective is planned: min(mu + widths, 1) + bonuses. `constants: "paper"` gives its
formulas to the letter; they stay saturated for millions of episodes, so the default is tuned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal, TypeVar

from pydantic import Field

from app.agents.base import Mode, Options
from app.agents.belief import Belief, Learned
from app.agents.model_based import PlanningOptions
from app.agents.optimist import Optimist, OptimistOptions
from app.errors import InvalidValue
from app.learning.world.policy import Policy
from app.planning.fast.planner import plan_fast
from app.planning.policies.uniform import plan_uniform
from app.planning.problem import Plan, PlanningProblem
from app.planning.reward.planner import plan_reward


class GridOptions(OptimistOptions, PlanningOptions):
    """How a kind that plans on grids is optimistic."""

    optimism: Literal["logit", "reward"] | None = Field(
        default=None, description='"logit" by default, "reward" with the paper\'s constants'
    )


AnyOptions = TypeVar("AnyOptions", bound=GridOptions)


class GridOptimist(Optimist[AnyOptions]):
    """Plans on grids for the best that the data leave possible."""

    def _make_beliefs(self) -> list[Belief]:
        if self._paper and self.options.optimism == "logit":
            raise InvalidValue("algorithm.optimism", '"reward" with the paper\'s constants')
        return super()._make_beliefs()

    @property
    def _in_reward_space(self) -> bool:
        return self._paper or self.options.optimism == "reward"

    def plan(
        self,
        episode: int,
        mode: Mode = "learn",
        pending: Sequence[Policy] = (),
        certify: bool = True,
    ) -> Plan:
        """The plan of the optimistic model; in ``exploit`` of the estimate itself."""
        learned = self.beliefs[0].follow(self.experience)
        if mode == "exploit":
            return self.exploit(learned, self.options.epsilon, certify)
        if self._paper and self._is_first:
            return plan_uniform(self.spec.actions)
        problem = self._optimistic(learned, episode, pending)
        if self._in_reward_space:
            return self.plain(learned, self._plan_reward(problem))
        plan = plan_fast(problem, self.options.epsilon, self.budget, certify)
        return self.plain(learned, plan)

    @property
    def _is_first(self) -> bool:
        """Whether this is the paper's first episode, which is uniform."""
        return not self.experience.episodes

    def _plan_reward(self, problem: PlanningProblem) -> Plan:
        return plan_reward(problem, self.options.epsilon, self.budget)

    def _optimistic(
        self, learned: Learned, episode: int, pending: Sequence[Policy]
    ) -> PlanningProblem:
        if self._paper:
            widths, ended = learned.belief.tables.widths(self.design(learned).norms)
            scale, bonuses = self.confidence_radius(), self.exploration_bonus()
        else:
            widths, ended = learned.belief.tables.widths(learned.posterior.norms)
            room = self.room(learned)
            scale = self.options.radius * math.sqrt(room)
            scale *= 0.25 if self._in_reward_space else 1.0  # mu' <= 1/4
            bonuses = self.visit_bonus(self.options.visit_bonus * room, episode, pending)
        plain = self.problem(learned, learned.fit.weights, learned.fit.intercept, bonuses)
        wide = {"widths": scale * widths, "ended_widths": scale * ended}
        if not self._in_reward_space:
            wide = {
                "weights": plain.weights + scale * widths,
                "ended_weights": plain.ended_weights + scale * ended,
            }
        return PlanningProblem(**(vars(plain) | wide))


class UcbviOptions(GridOptions):
    """How `ucbvi` is optimistic."""

    kind: Literal["ucbvi"] = Field(default="ucbvi", description="this agent kind")


class Ucbvi(GridOptimist[UcbviOptions]):
    """Optimism alone, from the first episode on."""

    options_type: ClassVar[type[Options]] = UcbviOptions
