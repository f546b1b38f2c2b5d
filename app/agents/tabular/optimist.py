"""The base classes of the optimistic kinds, with the paper's formulas.

In logit space a multiple of the uncertainty is added to the weight of every cell before the
logistic function. The value stays a probability, and planning needs one accumulator. In reward
space the planners maximise the objective of the paper: min(mu + widths, 1) + bonuses. `constants:
"paper"` uses the formulas to the letter. Their bonuses stay saturated for millions of episodes, so
the default constants are tuned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from app.agents.base import Mode
from app.agents.build_features import build_one_hot
from app.agents.insight import Optimism
from app.agents.options import DIRECT, GridOptions, OptimistOptions
from app.agents.tabular.belief import Belief, Learned, Prior
from app.agents.tabular.model_based import ModelBased
from app.errors import BudgetExceeded, InvalidValue
from app.learning.arrays import Floats
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.logistic.posterior import Posterior
from app.learning.paper.confidence import ALGORITHM_1, beta, delta_of_bounds, kappa, xi
from app.learning.paper.explorability import condition_number, sandwich_factor
from app.learning.paper.regret_bounds import RegretSetting, informative_from
from app.learning.world.policy import Policy
from app.planning.fast.planner import plan_fast
from app.planning.policies.uniform import plan_uniform
from app.planning.problem import Plan, PlanningProblem
from app.planning.reference.paper import check_paper_budget, clipped, plan_paper
from app.planning.reward.planner import plan_reward
from app.wire.specification.features import AutoFeatures

_LOWER = (
    "raise algorithm.paper_epsilon, lower the horizon, the number of states or "
    "algorithm.norm_bound, or leave out algorithm.planner"
)

AnyOptions = TypeVar("AnyOptions", bound=OptimistOptions)
AnyGridOptions = TypeVar("AnyGridOptions", bound=GridOptions)


class Optimist(ModelBased[AnyOptions]):
    """Plans for the estimate of one feature map plus its uncertainty."""

    theorem: ClassVar[int] = ALGORITHM_1  # determines how delta-bar is divided among the bounds
    optimistic_value: float | None = None  # of the last optimistic plan

    def _make_beliefs(self) -> list[Belief]:
        if isinstance(self.spec.features, AutoFeatures):
            raise InvalidValue(
                "features.kind", "one_hot, table, events or automaton: auto is for thompson"
            )
        variance = self.options.prior_deviation**2
        prior = Prior(None, None) if self._paper else Prior((variance,), variance)
        return [Belief(self.given_features or build_one_hot(DIRECT, self.spaces), prior)]

    @property
    def _paper(self) -> bool:
        return self.options.constants == "paper"

    def patience(self) -> int:
        """One label with the paper's constants: a new plan for every labelled episode."""
        return 1 if self._paper else super().patience()

    def best(self) -> Belief:
        """The only belief."""
        return self.beliefs[0]

    def bonuses(self) -> Floats:
        """xi with the paper's constants, otherwise the visit bonus."""
        if self._paper:
            return self.exploration_bonus()
        room = self.room(self.best().follow(self.experience))
        return self.visit_bonus(self.options.visit_bonus * room, 0, ())

    @property
    def scale(self) -> float:
        """The number that divides the features, so that no trajectory has a norm above 1."""
        return self.best().features.largest_norm() or 1.0

    @property
    def kappa(self) -> float:
        """kappa, for weights of norm B and features of norm 1."""
        return float(kappa(self.options.norm_bound))

    def design_data(self, learned: Learned) -> LabelledTrajectories:
        """The labelled episodes that Sigma_t sums over."""
        return learned.belief.data

    def design(self, learned: Learned) -> Posterior:
        """Sigma_t = kappa I + sum phi phi^T, in the scale of the raw features."""
        data = self.design_data(learned)
        counts, _ = data.counts()
        ridge = self.kappa * self.scale**2
        return Posterior(np.full(data.dimension, ridge), data.design(), counts)

    def confidence_radius(self) -> float:
        """sqrt(kappa) beta_t(delta), t the episode about to be played."""
        return math.sqrt(self.kappa) * self.beta

    @property
    def beta(self) -> float:
        """beta_t(delta), t the episode about to be played."""
        d, t, B = self.best().features.dimension, self._episode_number(), self.options.norm_bound
        return float(beta(d, t, self.episodes, self.delta_of_bounds, B))

    @property
    def delta_of_bounds(self) -> float:
        """delta of the paper's formulas: the failure probability of each single bound."""
        return delta_of_bounds(self.options.delta, self.episodes, self.theorem)

    @property
    def episodes(self) -> int:
        """N in the paper's constants."""
        return self.options.episodes

    def _episode_number(self) -> int:
        """t, counted from 1: one more than the labels so far."""
        return len(self.experience.labels) + 1

    def exploration_bonus(self) -> Floats:
        """xi(s, a) at every step but the last, shape (H, S, A).

        It counts known successors, as P_hat does. A pair that was visited only at the last step,
        without a reported successor, has a uniform P_hat and the largest bonus.
        """
        H, S, A = self.spaces.shape
        known = self.experience.transitions.successors().reshape(S, A)
        table = np.zeros((H, S, A))
        table[: H - 1] = xi(known, S, A, H, self.episodes, self.delta_of_bounds)
        return table

    def regret_bound(self, episodes: float) -> float:
        """The regret bound of the theorem after N episodes; `InvalidValue` where none applies."""
        raise InvalidValue("algorithm", f"a kind with a theorem, for {episodes:g} episodes")

    def _regret_bound(self) -> float | None:
        try:
            return self.regret_bound(self.episodes)
        except InvalidValue:
            return None

    def _theory(self) -> RegretSetting:
        d, o = self.best().features.dimension, self.options
        return RegretSetting(self.spaces, d, o.norm_bound, o.delta)

    def _condition_bound(self, labels: float) -> float:
        """An upper bound of the condition number of Sigma_t after so many labelled episodes."""
        return 1.0 + labels / self.kappa

    def optimism(self) -> Floats:
        """The paper's quantities at this episode, packed."""
        learned = self.best().follow(self.experience)
        return self._paper_optimism(learned) if self._paper else self._tuned_optimism(learned)

    def _paper_optimism(self, learned: Learned) -> Floats:
        data, radius = self.design_data(learned), self.confidence_radius()
        condition = condition_number(data, self.kappa * self.scale**2)
        orthogonal = learned.belief.features.has_orthogonal_steps
        return Optimism(
            episode=self._episode_number(),
            episodes=self.episodes,
            scale=self.scale,
            delta=self.delta_of_bounds,
            kappa=self.kappa,
            beta=self.beta,
            radius=radius,
            width=radius * _widest(learned, self.design(learned)),
            value=self.optimistic_value,
            condition_number=condition,
            condition_bound=self._condition_bound(data.labels),
            sandwich=sandwich_factor(self.spaces.horizon, condition)
            if orthogonal and condition is not None
            else None,
            regret_bound=self._regret_bound(),
            informative_from=self._informative_from,
        ).packed()

    @cached_property
    def _informative_from(self) -> float | None:
        return informative_from(self.regret_bound)

    def _tuned_optimism(self, learned: Learned) -> Floats:
        radius = self.tuned_radius(self.room(learned))
        return Optimism(
            episode=self._episode_number(),
            episodes=self.episodes,
            scale=self.scale,
            delta=None,
            kappa=None,
            beta=None,
            radius=radius,
            width=radius * _widest(learned, learned.posterior),
            value=self.optimistic_value,
            condition_number=None,
            condition_bound=None,
            sandwich=None,
            regret_bound=None,
            informative_from=None,
        ).packed()

    def tuned_radius(self, room: float) -> float:
        """The factor of every norm with tuned constants; ``room`` is the success still to gain."""
        return self.options.radius * math.sqrt(room)


def _widest(learned: Learned, posterior: Posterior) -> float:
    """The largest sum of the norms of an episode's steps, whatever state follows another."""
    widths, _ = learned.belief.tables.widths(posterior.norms)
    return float(widths.max(axis=(1, 2)).sum())


class GridOptimist(Optimist[AnyGridOptions]):
    """Plans on grids in the optimistic model."""

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
        """Plan in the optimistic model; ``exploit`` plans for the estimate."""
        learned = self.beliefs[0].follow(self.experience)
        if mode == "exploit":
            return self.exploit(learned, self.options.epsilon, certify)
        if self._paper and self._is_first:
            return plan_uniform(self.spec.actions, self.allowed)
        problem = self._optimistic(learned, episode, pending)
        plan = self._plan_optimistic(problem, certify)
        self.optimistic_value = plan.value
        return self.plain(learned, plan)

    def _plan_optimistic(self, problem: PlanningProblem, certify: bool) -> Plan:
        if self.options.planner == "paper":
            try:
                return plan_paper(clipped(problem), self.options.paper_epsilon, None, self.budget)
            except BudgetExceeded:  # the weights are larger than those that `check_budget` assumed
                pass
        if self._in_reward_space:
            return self._plan_reward(problem)
        return plan_fast(problem, self.options.epsilon, self.budget, certify)

    def check_budget(self) -> None:
        """Also refuse a problem that is too large for the paper's dynamic programme."""
        super().check_budget()
        if self.options.planner == "paper":
            H, tracker = self.spaces.horizon, self.best().tracker
            S = self.spaces.states if tracker is None else tracker.size
            # Bonuses of up to 2 at H - 1 steps, widths of up to 1 at H, and weights of norm B.
            zeta = max(2.0 * (H - 1), float(H), self.options.norm_bound)
            try:
                check_paper_budget(S, H, zeta, self.options.paper_epsilon, self.budget)
            except BudgetExceeded as error:
                raise BudgetExceeded(error.what, error.needed, error.allowed, _LOWER) from error

    @property
    def _is_first(self) -> bool:
        """Whether this is the paper's first episode, which acts uniformly."""
        return not self.experience.episodes

    def tuned_radius(self, room: float) -> float:
        """A quarter of the logit radius in reward space, since mu' is at most 1/4."""
        return super().tuned_radius(room) * (0.25 if self._in_reward_space else 1.0)

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
            scale = self.tuned_radius(room)
            bonuses = self.visit_bonus(self.options.visit_bonus * room, episode, pending)
        plain = self.problem(learned, learned.fit.weights, learned.fit.intercept, bonuses)
        wide = {"widths": scale * widths, "ended_widths": scale * ended}
        if not self._in_reward_space:
            wide = {
                "weights": plain.weights + scale * widths,
                "ended_weights": plain.ended_weights + scale * ended,
            }
        return self.limited(learned, PlanningProblem(**(vars(plain) | wide)))
