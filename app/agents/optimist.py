"""Optimism by the paper's formulas: what the kinds that are optimistic share.

In logit space the weight of every cell is raised by a multiple of its uncertainty before the
logistic function, which keeps the value a probability and needs one accumulator. In reward space
the paper's own objective is planned: min(mu + widths, 1) + bonuses. `constants: "paper"` gives its
formulas to the letter; they stay saturated for millions of episodes, so the default is tuned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, TypeVar

import numpy as np

from app.agents.base import Mode
from app.agents.belief import Belief, Learned, Prior
from app.agents.build_features import build_one_hot
from app.agents.model_based import ModelBased
from app.agents.options import DIRECT, GridOptions, OptimistOptions
from app.errors import InvalidValue
from app.learning.arrays import Floats
from app.learning.logistic.posterior import Posterior
from app.learning.paper.confidence import ALGORITHM_1, beta, delta_of_bounds, kappa, xi
from app.learning.world.policy import Policy
from app.planning.fast.planner import plan_fast
from app.planning.policies.uniform import plan_uniform
from app.planning.problem import Plan, PlanningProblem
from app.planning.reward.planner import plan_reward
from app.wire.features import AutoFeatures

AnyOptions = TypeVar("AnyOptions", bound=OptimistOptions)
AnyGridOptions = TypeVar("AnyGridOptions", bound=GridOptions)


class Optimist(ModelBased[AnyOptions]):
    """Believes one feature map, and adds to its estimate what the data leave possible."""

    theorem: ClassVar[int] = ALGORITHM_1  # whose split of delta-bar the bounds use

    def _make_beliefs(self) -> list[Belief]:
        if isinstance(self.spec.features, AutoFeatures):
            raise InvalidValue("features.kind", "one_hot, table or events: auto is for thompson")
        variance = self.options.prior_deviation**2
        prior = Prior(None, None) if self._paper else Prior((variance,), variance)
        return [Belief(self.given_features or build_one_hot(DIRECT, self.spaces), prior)]

    @property
    def _paper(self) -> bool:
        return self.options.constants == "paper"

    def patience(self) -> int:
        """The paper plans anew for every episode."""
        return 1 if self._paper else super().patience()

    def best(self) -> Belief:
        """The only one."""
        return self.beliefs[0]

    def bonuses(self) -> Floats:
        """xi with the paper's constants, else the visit bonus."""
        if self._paper:
            return self.exploration_bonus()
        room = self.room(self.best().follow(self.experience))
        return self.visit_bonus(self.options.visit_bonus * room, 0, ())

    def design(self, learned: Learned) -> Posterior:
        """Sigma_t = kappa I + sum phi phi^T, in the scale of the raw features."""
        data, scale = learned.belief.data, learned.belief.features.largest_norm() or 1.0
        counts, _ = data.counts()
        k = float(kappa(self.options.norm_bound))
        return Posterior(np.full(data.dimension, k * scale**2), data.design(), counts)

    def confidence_radius(self) -> float:
        """sqrt(kappa) beta_t(delta), t the episode about to be played."""
        d, B = self.beliefs[0].features.dimension, self.options.norm_bound
        radius = beta(d, self._episode_number(), self.episodes, self.delta_of_bounds, B)
        return float(np.sqrt(kappa(B)) * radius)

    @property
    def delta_of_bounds(self) -> float:
        """delta of the paper's formulas: the failure probability of each single bound."""
        return delta_of_bounds(self.options.delta, self.episodes, self.theorem)

    @property
    def episodes(self) -> int:
        """N of the paper's constants."""
        return self.options.episodes

    def _episode_number(self) -> int:
        """t, counted from 1: one more than the labels so far."""
        return len(self.experience.labels) + 1

    def exploration_bonus(self) -> Floats:
        """xi(s, a) at every step but the last, shape (H, S, A).

        It counts the known successors, as P_hat does. A pair that was only ever visited at the last
        step, without a reported successor, has a uniform P_hat and the largest bonus.
        """
        H, S, A = self.spaces.shape
        known = self.experience.transitions.successors().reshape(S, A)
        table = np.zeros((H, S, A))
        table[: H - 1] = xi(known, S, A, H, self.episodes, self.delta_of_bounds)
        return table


class GridOptimist(Optimist[AnyGridOptions]):
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
