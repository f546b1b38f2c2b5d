"""Optimism in the face of uncertainty: the practical form of the paper's Algorithms 1 and 3.

In logit space the weight of every cell is raised by a multiple of its uncertainty before the
logistic function, which keeps the value a probability and needs one accumulator. In reward space
the paper's own objective is planned: min(mu + widths, 1) + bonuses. `constants: "paper"` gives its
formulas to the letter; they stay saturated for millions of episodes, so the default is tuned.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, TypeVar

import numpy as np
from pydantic import Field

from app.agents.base import Mode, Options
from app.agents.belief import Belief, Learned, Prior
from app.agents.model_based import ModelBased, PlanningOptions
from app.agents.spec import AutoFeatures, OneHotFeatures
from app.errors import InvalidValue
from app.learning.confidence import beta, kappa, xi
from app.learning.features import Floats
from app.learning.planning.fast import plan_fast
from app.learning.planning.problem import Plan, PlanningProblem, Policy
from app.learning.planning.reward import plan_reward
from app.learning.planning.uniform_policy import plan_uniform
from app.learning.posterior import Posterior

_DIRECT = OneHotFeatures(over=("step", "state", "action"))  # the paper's direct parametrisation


class OptimisticOptions(PlanningOptions):
    """How a kind is optimistic."""

    constants: Literal["tuned", "paper"] = "tuned"
    optimism: Literal["logit", "reward"] | None = Field(
        default=None, description='"logit" by default, "reward" with the paper\'s constants'
    )
    radius: float = Field(
        default=0.5, ge=0, le=100, description="optimism in deviations of the posterior (tuned)"
    )
    visit_bonus: float = Field(
        default=0.07, ge=0, le=10, description="added to the value of a place never visited (tuned)"
    )
    prior_deviation: float = Field(default=3.0, gt=0, le=100, description="of a weight (tuned)")
    episodes: int | None = Field(default=None, ge=1, description="N of the paper's constants")
    delta: float = Field(default=0.05, gt=0, lt=1, description="chance that a bound fails (paper)")
    norm_bound: float = Field(
        default=5.0, gt=0, le=100, description="B, bounds the weights (paper)"
    )


class UcbviOptions(OptimisticOptions):
    """How `ucbvi` is optimistic."""

    kind: Literal["ucbvi"] = "ucbvi"
    episodes: int = Field(default=1000, ge=1, description="N of the paper's constants")


AnyOptimism = TypeVar("AnyOptimism", bound=OptimisticOptions)


class Optimist(ModelBased[AnyOptimism]):
    """Plans for the best that the data leave possible."""

    def _make_beliefs(self) -> list[Belief]:
        if isinstance(self.spec.features, AutoFeatures):
            raise InvalidValue("features.kind", "one_hot or table: auto is for thompson")
        if self._paper and self.options.optimism == "logit":
            raise InvalidValue("algorithm.optimism", '"reward" with the paper\'s constants')
        variance = self.options.prior_deviation**2
        prior = Prior(None, None) if self._paper else Prior((variance,), variance)
        return [Belief(self.given_features or _DIRECT.build(self.spec.spaces), prior)]

    @property
    def _paper(self) -> bool:
        return self.options.constants == "paper"

    @property
    @abstractmethod
    def episodes(self) -> int:
        """N, the number of episodes that the paper's constants are for."""

    @property
    def _in_reward_space(self) -> bool:
        return self._paper or self.options.optimism == "reward"

    def patience(self) -> int:
        """The paper plans anew for every episode."""
        return 1 if self._paper else super().patience()

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
            return self._plan_reward(problem)
        return plan_fast(problem, self.options.epsilon, self.budget, certify)

    @property
    def _is_first(self) -> bool:
        """Whether this is the paper's first episode, which is uniform."""
        return not self.experience.episodes

    def _plan_reward(self, problem: PlanningProblem) -> Plan:
        return plan_reward(problem, self.options.epsilon, self.budget)

    def best(self) -> Belief:
        """The only one."""
        return self.beliefs[0]

    def bonuses(self) -> Floats:
        """xi with the paper's constants, else the visit bonus."""
        if self._paper:
            return self.exploration_bonus()
        room = self.room(self.best().follow(self.experience))
        return self.visit_bonus(self.options.visit_bonus * room, 0, ())

    def _optimistic(
        self, learned: Learned, episode: int, pending: Sequence[Policy]
    ) -> PlanningProblem:
        if self._paper:
            widths, ended = learned.belief.features.widths(self.design(learned).norms)
            scale, bonuses = self.confidence_radius(), self.exploration_bonus()
        else:
            widths, ended = learned.belief.features.widths(learned.posterior.norms)
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

    def design(self, learned: Learned) -> Posterior:
        """Sigma_t = kappa I + sum phi phi^T, in the scale of the raw features."""
        data, scale = learned.belief.data, learned.belief.features.largest_norm() or 1.0
        counts, _ = data.counts()
        k = float(kappa(self.options.norm_bound))
        return Posterior(np.full(data.dimension, k * scale**2), data.design(), counts)

    def confidence_radius(self) -> float:
        """sqrt(kappa) beta_t(delta), t the episode about to be played."""
        o, t = self.options, self._episode_number()
        radius = beta(self.beliefs[0].features.dimension, t, self.episodes, o.delta, o.norm_bound)
        return float(np.sqrt(kappa(o.norm_bound)) * radius)

    def _episode_number(self) -> int:
        """t, counted from 1: one more than the labels so far."""
        return len(self.experience.labels) + 1

    def exploration_bonus(self) -> Floats:
        """xi(s, a) at every step but the last, shape (H, S, A)."""
        H, S, A = self.spec.spaces.shape
        visits = self.experience.transitions.visits.reshape(S, A)
        table = np.zeros((H, S, A))
        table[: H - 1] = xi(visits, S, A, H, self.episodes, self.options.delta)
        return table


class Ucbvi(Optimist[UcbviOptions]):
    """Optimism alone, from the first episode on."""

    options_type: ClassVar[type[Options]] = UcbviOptions

    @property
    def episodes(self) -> int:
        """N, as given."""
        return self.options.episodes
