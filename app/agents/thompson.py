"""Posterior sampling, the default: it needs the fewest labels.

For every plan it draws weights from the posterior of the label model, plans for them in the
estimated transitions with a bonus on rarely visited places, and keeps the better of a few such
draws. With `auto` features it first draws which feature map to believe in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from app.agents.base import Agent, Mode, Options
from app.agents.belief import Belief, Learned, Prior
from app.agents.experience import Arrays
from app.agents.spec import AgentSpec, AutoFeatures
from app.learning.competition import INTERCEPT_VARIANCE, candidates, checkpoint, weigh
from app.learning.features import Floats
from app.learning.planning.fast import plan_fast
from app.learning.planning.problem import Plan, PlanBudget, PlanningProblem, Policy
from app.learning.randomness import generator, uniform
from app.learning.rollout import expected_visits

_DRAWS, _ROLLOUTS = 1, 2  # addresses of the generators


class ThompsonOptions(Options):
    """How `thompson` explores; the defaults were settled on all tasks together."""

    kind: Literal["thompson"] = "thompson"
    epsilon: float = Field(default=0.02, gt=0, lt=1, description="accuracy of a plan")
    draws: int = Field(default=2, ge=1, le=16, description="draws per plan; the best is kept")
    spread: float = Field(
        default=0.35, ge=0, le=10, description="of draws, in posterior deviations"
    )
    visit_bonus: float = Field(default=0.1, ge=0, le=10, description="for an unvisited place")
    prior_deviation: float = Field(default=3.0, gt=0, le=100, description="of a weight")


class Thompson(Agent[ThompsonOptions]):
    """Samples what labels may mean and plans for it."""

    options_type: ClassVar[type[Options]] = ThompsonOptions

    def __init__(self, spec: AgentSpec, budget: PlanBudget | None = None) -> None:
        super().__init__(spec, budget)
        self._start = spec.start()
        features = spec.features or AutoFeatures()
        variance = self.options.prior_deviation**2
        self._choices = candidates(spec.spaces) if isinstance(features, AutoFeatures) else ()
        if isinstance(features, AutoFeatures):
            scale = variance / INTERCEPT_VARIANCE
            self._beliefs = [
                Belief(
                    choice.features,
                    Prior(tuple(scale * v for v in choice.variances), variance),
                )
                for choice in self._choices
            ]
        else:
            self._beliefs = [Belief(features.build(spec.spaces), Prior((variance,), variance))]
        self._weighed: tuple[bytes, Floats] | None = None

    def plan(
        self,
        episode: int,
        mode: Mode = "learn",
        pending: Sequence[Policy] = (),
        certify: bool = True,
    ) -> Plan:
        """The best of a few draws; in ``exploit`` the estimate of the most probable map."""
        shares = self.shares()
        if mode == "exploit":
            learned = self._beliefs[int(np.argmax(shares))].follow(self.experience)
            problem = self._problem(learned, learned.fit.weights, learned.fit.intercept, None)
            return plan_fast(problem, self.options.epsilon, self.budget, certify)
        rng = generator(self.spec.seed, _DRAWS, episode)
        learned = self._beliefs[rng.choice(len(shares), p=shares)].follow(self.experience)
        bonus = self._bonus(learned, episode, pending)
        problems = []
        for _ in range(self.options.draws):
            weights, offset = learned.posterior.sample(rng, self.options.spread)
            problems.append(self._problem(learned, weights, offset, bonus))
        plans = [plan_fast(one, self.options.epsilon, self.budget, False) for one in problems]
        best = int(np.argmax([plan.value for plan in plans]))
        if not certify:
            return plans[best]
        return plan_fast(problems[best], self.options.epsilon, self.budget)

    def patience(self) -> int:
        """Plan anew every label at first; later when labels, and good ones, are 1/30 more."""
        labels = len(self.experience.labels)
        return max(1, min(labels // 30, self.experience.positives // 30))

    def shares(self) -> Floats:
        """How probable each feature map is, from the labels up to the last checkpoint."""
        if len(self._beliefs) == 1:
            return np.ones(1)
        labelled = self.experience.labels
        known = sorted(labelled)[: checkpoint(len(labelled))]
        labels = np.array([labelled[episode] for episode in known], dtype=np.float64)
        key = np.array(known, dtype=np.int64).tobytes() + labels.tobytes()
        if self._weighed is None or self._weighed[0] != key:
            played = [self.experience.episodes[episode] for episode in known]
            self._weighed = key, weigh(self._choices, played, labels, self.spec.seed)
        return self._weighed[1]

    def _problem(
        self, learned: Learned, weights: Floats, offset: float, bonus: Floats | None
    ) -> PlanningProblem:
        features, counts = learned.belief.features, self.experience.transitions
        return PlanningProblem(
            start=self._start if self._start is not None else counts.start(),
            transitions=counts.estimate(),
            weights=features.spread(weights),
            bonuses=np.zeros(self.spec.spaces.shape) if bonus is None else bonus,
            ended_weights=features.remainders(weights),
            offset=offset,
        )

    def _bonus(self, learned: Learned, episode: int, pending: Sequence[Policy]) -> Floats:
        """A bonus that halves with the first visit, counting those that are on their way.

        It is added to the value and never clipped at 1: clipping ties all plans of a confident
        model, and exploration would be put off for ever.
        """
        counts, spaces = self.experience.transitions, self.spec.spaces
        visits = counts.visits.reshape(spaces.states, spaces.actions).astype(np.float64)
        if pending:
            seed = int(uniform(self.spec.seed, episode, _ROLLOUTS) * 2.0**53)
            visits += expected_visits(counts.estimate(), self._first(), pending, spaces, seed)
        return self.options.visit_bonus / (1.0 + learned.visits(visits))

    def _first(self) -> Floats:
        return self._start if self._start is not None else self.experience.transitions.start()

    def _own_arrays(self) -> Arrays:
        return {
            f"{i}.{key}": value
            for i, belief in enumerate(self._beliefs)
            for key, value in belief.arrays().items()
        }

    def _load_own(self, arrays: Arrays) -> None:
        for i, belief in enumerate(self._beliefs):
            prefix = f"{i}."
            belief.load({k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)})
