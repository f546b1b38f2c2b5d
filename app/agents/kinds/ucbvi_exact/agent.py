"""The paper's Algorithm 1: optimism about whole trajectories, planned exactly over histories.

    mu~(tau) = min{mu(w . phi(tau)) + sqrt(kappa) beta_t ||phi(tau)||_{Sigma_t^-1}, 1}
               + sum_{h<H} xi(s_h, a_h)

The norm is that of the whole trajectory, so features need not be sums over steps. The planner
visits every history that the estimated transitions allow, so problems must be small. Before
anything is learned all |first states| (S A)^(H-1) A histories are possible, and learning only
excludes some. An agent is accepted if this full tree fits the budget; then every plan fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from app.agents.base import Mode
from app.agents.kinds.ucbvi_exact.options import UcbviExactOptions
from app.agents.tabular.belief import Learned
from app.agents.tabular.optimist import Optimist
from app.errors import BudgetExceeded
from app.learning.arrays import Floats, Integers
from app.learning.paper.regret_bounds import optimism_regret
from app.learning.world.policy import Policy
from app.learning.world.transitions import TransitionCounts
from app.planning.policies.uniform import plan_uniform
from app.planning.problem import Plan, PlanBudget
from app.planning.reference.exact import Worth, count_histories, plan_histories

HISTORIES = 2e6  # a plan takes some seconds, and there may be one for every episode
_SLOPE = 0.25  # mu' is never more: a deviation of the logit moves the probability by this share
_LOWER = (
    "lower the horizon, the number of states or of actions, name fewer initial_states, "
    "or use ucbvi or thompson"
)


class UcbviExact(Optimist[UcbviExactOptions]):
    """Plans exactly for the optimistic reward, with one decision for every history."""

    def check_budget(self) -> None:
        """Refuse a problem whose tree of histories exceeds the budget."""
        spaces = self.spaces
        start = np.ones(spaces.states) if self.given_start is None else self.given_start
        unknown = TransitionCounts(spaces).estimate()
        try:
            count_histories(start, unknown, spaces.horizon, self._limits)
        except BudgetExceeded as error:
            raise BudgetExceeded(error.what, error.needed, error.allowed, _LOWER) from error

    @property
    def _limits(self) -> PlanBudget:
        return PlanBudget(min(self.budget.cells, HISTORIES), self.budget.bytes)

    def plan(
        self,
        episode: int,
        mode: Mode = "learn",
        pending: Sequence[Policy] = (),
        certify: bool = True,
    ) -> Plan:
        """The best policy for mu~; the first episode is uniform, as in the paper."""
        learned = self.beliefs[0].follow(self.experience)
        if mode == "exploit":
            return self.exploit(learned, 0.0, certify)
        if not self.experience.episodes:
            return plan_uniform(self.spec.actions, self.allowed)
        plan = self._over_histories(self.optimistic(learned, episode, pending))
        self.optimistic_value = plan.value
        return plan

    def tuned_radius(self, room: float) -> float:
        """A quarter of the deviation of the logit: mu' is never more."""
        return super().tuned_radius(room) * _SLOPE

    def regret_bound(self, episodes: float) -> float:
        """The bound of Algorithm 1."""
        return optimism_regret(self._theory(), episodes)

    def exploit(
        self,
        learned: Learned,
        epsilon: float,  # noqa: ARG002 - exact, whatever is asked for
        certify: bool,  # noqa: ARG002
    ) -> Plan:
        """The best policy for the estimate."""
        return self._over_histories(_worth(learned, None, np.zeros(self.spaces.shape)))

    def optimistic(self, learned: Learned, episode: int, pending: Sequence[Policy] = ()) -> Worth:
        """mu~ with the paper's constants, or with tuned ones that need far fewer labels."""
        if self._paper:
            scale, bonuses = self.confidence_radius(), self.exploration_bonus()
            design = self.design(learned)
            return _worth(learned, lambda rows: scale * design.norms(rows), bonuses)
        room = self.room(learned)
        scale = self.tuned_radius(room)
        bonuses = self.visit_bonus(self.options.visit_bonus * room, episode, pending)
        bonuses[-1] = 0.0  # the state after the last action is not part of the episode
        norms = learned.posterior.norms
        return _worth(learned, lambda rows: scale * norms(rows, intercept=1.0), bonuses)

    def _over_histories(self, worth: Worth) -> Plan:
        model, horizon = self.experience.transitions.estimate(), self.spec.horizon
        return plan_histories(self.start(), model, horizon, worth, self._limits, self.allowed)


def _worth(learned: Learned, widths: Callable[[Any], Floats] | None, bonuses: Floats) -> Worth:
    """min{mu(c + w . phi(tau)) + width(phi(tau)), 1} + sum_h b_h(s_h, a_h)."""
    features, fit = learned.belief.features, learned.fit

    def worth(states: Integers, actions: Integers, ended: Integers) -> Floats:
        rows = features.rows(states, actions, ended)
        chances = expit(rows @ fit.weights + fit.intercept)
        if widths is not None:
            chances = np.minimum(chances + widths(rows), 1.0)
        taken = (np.arange(states.shape[1]), states, actions)
        values: Floats = chances + bonuses[taken].sum(axis=1)
        return values

    return worth
