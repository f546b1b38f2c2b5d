"""Posterior sampling (Thompson sampling), the default kind: it needs the fewest labels.

For every plan it draws a feature map (one of those of `auto`, or one prior of a given map), draws
weights from its posterior, and plans for them in the estimated transitions with a bonus on rarely
visited cells. It keeps the best of a few such draws. The spread of the draws and the bonus shrink
with the success still to gain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.agents.base import Mode
from app.agents.kinds.thompson.options import ThompsonOptions
from app.agents.spec import AgentSpec
from app.agents.tabular.belief import Belief, Prior
from app.agents.tabular.model_based import ModelBased
from app.learning.arrays import Floats
from app.learning.randomness import generator
from app.learning.selection.competition import (
    INTERCEPT_VARIANCE,
    Candidate,
    candidates,
    checkpoint,
    readings,
    weigh,
)
from app.learning.world.model import TransitionModel
from app.learning.world.policy import Policy
from app.planning.fast.planner import plan_fast
from app.planning.problem import Plan, PlanBudget

_DRAWS = 1  # address of the generator
_SEARCHING = 0.9  # above this room no plan is known to succeed; one good label may be an accident
_SWAY = 0.3  # share of an action's random bonus that is the same in all states; more fails in mazes


class Thompson(ModelBased[ThompsonOptions]):
    """Samples weights from the posterior and plans for them."""

    _choices: tuple[Candidate, ...]  # one for each belief

    def __init__(self, spec: AgentSpec, budget: PlanBudget | None = None) -> None:
        self._weighed: tuple[bytes, Floats] | None = None
        super().__init__(spec, budget)

    def _make_beliefs(self) -> list[Belief]:
        given, variance = self.given_features, self.options.prior_deviation**2
        self._choices = candidates(self.spaces) if given is None else readings(given)
        scale = variance / INTERCEPT_VARIANCE
        return [
            Belief(
                choice.features,
                Prior(tuple(scale * v for v in choice.variances), variance, units=choice.units),
            )
            for choice in self._choices
        ]

    def plan(
        self,
        episode: int,
        mode: Mode = "learn",
        pending: Sequence[Policy] = (),
        certify: bool = True,
    ) -> Plan:
        """Plan for the best of a few posterior draws; ``exploit`` plans for the estimate."""
        shares = self.shares()
        if mode == "exploit":
            return self.exploit(self.best().follow(self.experience), self.options.epsilon, certify)
        rng = generator(self.spec.seed, _DRAWS, episode)
        chosen = int(rng.choice(len(shares), p=shares))
        choice, learned = self._choices[chosen], self.beliefs[chosen].follow(self.experience)
        room = self.room(learned)
        spread = self.options.spread * choice.boldness * math.sqrt(room)
        bonus = self.visit_bonus(self.options.visit_bonus * room, episode, pending)
        problems = []
        for _ in range(self.options.draws):
            weights, offset = learned.posterior.sample(rng, spread)
            lure, transitions = self._search(bonus, room, choice.doubt, rng)
            problems.append(self.problem(learned, weights, offset, lure, transitions))
        plans = [
            plan_fast(problem, self.options.epsilon, self.budget, certify=False)
            for problem in problems
        ]
        best = int(np.argmax([plan.value for plan in plans]))
        if not certify:
            return self.plain(learned, plans[best])
        certified = plan_fast(problems[best], self.options.epsilon, self.budget)
        return self.plain(learned, certified)

    def best(self) -> Belief:
        """The most probable feature map."""
        return self.beliefs[int(np.argmax(self.shares()))]

    def bonuses(self) -> Floats:
        """The visit bonus, scaled by the success still to gain."""
        room = self.room(self.best().follow(self.experience))
        return self.visit_bonus(self.options.visit_bonus * room, 0, ())

    def _search(
        self, bonus: Floats, room: float, doubt: float, rng: np.random.Generator
    ) -> tuple[Floats, TransitionModel]:
        """The bonus of visits and the transitions to plan in, both randomised for untried pairs.

        While no plan is known to succeed, the bonus and the successor of untried pairs are random.
        With equal bonuses a plan, which is fixed within an episode, would repeat one useless
        action, and so would parallel episodes. Part of an action's random bonus is the same in all
        states, so that plans keep a direction. Once a plan succeeds, randomness would only lead
        away from it. Tried pairs count as untried now and then, because an action that failed by
        chance a few times would otherwise never be taken again.
        """
        counts = self.experience.transitions
        if room > _SEARCHING:
            untried = (counts.visits == 0).reshape(bonus.shape[1:])
            luck = (1.0 - _SWAY) * rng.standard_exponential(bonus.shape)
            luck += _SWAY * rng.standard_exponential(bonus.shape[2:])
            return np.where(untried, bonus * luck, bonus), counts.guess(rng)
        return bonus, counts.draw(rng) if rng.random() < doubt else counts.estimate()

    def shares(self) -> Floats:
        """The posterior probability of each candidate, by the labels up to a checkpoint."""
        known = self._known()
        key = np.array(known, dtype=np.int64).tobytes()
        if self._weighed is None or self._weighed[0] != key:
            played = [self.experience.episodes[episode] for episode, _ in known]
            labels = np.array([label for _, label in known], dtype=np.float64)
            self._weighed = key, weigh(self._choices, played, labels, self.spec.seed)
        return self._weighed[1]

    def _known(self) -> list[tuple[int, int]]:
        """The labels up to the last checkpoint; all labels of an episode, or none."""
        labels = self.experience.sorted_labels()
        count = checkpoint(np.array([label for _, label in labels]))
        last = labels[count - 1][0] if count else -1
        return [pair for pair in labels if pair[0] <= last]
