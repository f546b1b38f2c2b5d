"""Posterior sampling, the default: it needs the fewest labels.

For every plan it draws weights from the posterior of the label model, plans for them in the
estimated transitions with a bonus on rarely visited places, and keeps the better of a few such
draws. Both shrink with the success that there is still to gain. First of all it draws what to
believe in: one of the maps of `auto`, or one of the ways to read a given one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.agents.base import Mode
from app.agents.belief import Belief, Prior
from app.agents.kinds.thompson.options import ThompsonOptions
from app.agents.model_based import ModelBased
from app.agents.spec import AgentSpec
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
_SEARCHING = 0.9  # room above which nothing is known to succeed; one good label may be an accident
_SWAY = 0.3  # share of an action's luck that is the same everywhere; more would cost mazes


class Thompson(ModelBased[ThompsonOptions]):
    """Samples what labels may mean and plans for it."""

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
        """The best of a few draws; in ``exploit`` the estimate of the most probable map."""
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
        """The visit bonus, as large as there is success to gain."""
        room = self.room(self.best().follow(self.experience))
        return self.visit_bonus(self.options.visit_bonus * room, 0, ())

    def _search(
        self, bonus: Floats, room: float, doubt: float, rng: np.random.Generator
    ) -> tuple[Floats, TransitionModel]:
        """What visits are worth, and where they lead.

        As long as no plan is known to succeed, luck decides both for what was never tried: a
        plan cannot change its mind within an episode, and with the same bonus at every step it
        would run into the same wall to the end, as would the episodes beside it. Some of an
        action's luck holds everywhere: who never keeps to a direction does not get far. Once
        something succeeds luck would only lead away from it. But now and then what was tried is
        doubted: an action that was unlucky a few times would otherwise never be taken again.
        """
        counts = self.experience.transitions
        if room > _SEARCHING:
            untried = (counts.visits == 0).reshape(bonus.shape[1:])
            luck = (1.0 - _SWAY) * rng.standard_exponential(bonus.shape)
            luck += _SWAY * rng.standard_exponential(bonus.shape[2:])
            return np.where(untried, bonus * luck, bonus), counts.guess(rng)
        return bonus, counts.draw(rng) if rng.random() < doubt else counts.estimate()

    def shares(self) -> Floats:
        """How probable each candidate is, from the labels up to the last checkpoint."""
        known = self._known()
        key = np.array(known, dtype=np.int64).tobytes()
        if self._weighed is None or self._weighed[0] != key:
            played = [self.experience.episodes[episode] for episode, _ in known]
            labels = np.array([label for _, label in known], dtype=np.float64)
            self._weighed = key, weigh(self._choices, played, labels, self.spec.seed)
        return self._weighed[1]

    def _known(self) -> list[tuple[int, int]]:
        """The labels that the maps are weighed by: all labels of an episode, or none."""
        labels = self.experience.sorted_labels()
        count = checkpoint(np.array([label for _, label in labels]))
        last = labels[count - 1][0] if count else -1
        return [pair for pair in labels if pair[0] <= last]
