"""The next plan of `smooth`: exploit, seek novelty, plan for a posterior draw, or act uniformly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.agents.kinds.smooth.belief import OUTSIDE, Belief
from app.learning.arrays import Floats
from app.learning.continuous.label_model import SuccessLogit
from app.planning.net.problem import NetModel, NetProblem
from app.planning.net.sweep import solve
from app.planning.policies.net import NetPolicy

_GOOD_LABELS = 5.0  # with more good labels, the value of the model counts more than half
_BONUS = 2.0
_SMALL_BONUS = 0.5
_NOVELTY = 0.3  # the novelty of a step above which nearly every episode seeks it
_MOST_NOVELTY = 0.9
_NEARLY_GREEDY = 0.3


@dataclass(frozen=True)
class Decision:
    """A plan on the net."""

    policy: NetPolicy
    success: float  # the chance of success that the model gives the policy's greedy actions
    value: float  # with bonuses and hazards
    centres: Floats  # (K,): the chance of success of an episode that starts in each centre


class Planner:
    """Plans for one belief, and caches what all plans share."""

    def __init__(self, belief: Belief) -> None:
        self.belief, self._world = belief, belief.world
        columns, weights = self._world.moves
        self._model = NetModel(columns, weights, self._world.ends)
        self._starts = self._world.locate(self._world.starts)

    @cached_property
    def exploit(self) -> Decision:
        """Plan for success alone, with the posterior mean and a penalty for unvisited states."""
        wary = 1.0 - self._rarity(self._world.visits) / self.belief.horizon
        return self._decide(self.belief.mean(), wary, 0.0 * wary)

    @property
    def room(self) -> float:
        """The success still to gain, between 0 and 1."""
        good = self.belief.good
        if good == 0:
            return 1.0
        return 1.0 - self.exploit.success * good / (good + _GOOD_LABELS)

    @property
    def bonuses(self) -> Floats:
        """The exploration bonus of each centre and action, shape (K, A)."""
        return _BONUS * self.room * self._rarity(self._world.visits) / self.belief.horizon

    def learn(self, episode: int, rng: np.random.Generator, pending: Floats) -> Decision | None:
        """Plan to learn; None for an episode of uniform actions.

        ``pending`` are the states that episodes which run side by side will visit, (n, d).
        """
        visits = self._world.visits
        if len(pending):
            visits = visits + self._world.visits_of(pending)
        if self.belief.good:
            near = episode % 2 == 1
            spread = (_NEARLY_GREEDY if near else 1.0) * float(np.sqrt(self.room))
            return self._draw(spread, 0.0 if near else _BONUS, visits, rng)
        if rng.random() < min(_MOST_NOVELTY, self._novelty(visits) / _NOVELTY):
            return self._draw(1.0, _BONUS, visits, rng)
        return None if episode % 2 else self._draw(1.0, _SMALL_BONUS, visits, rng)

    def _draw(
        self, spread: float, bonus: float, visits: Floats, rng: np.random.Generator
    ) -> Decision:
        """Plan for a posterior draw, with a bonus for rarely visited states."""
        verdict = self.belief.draw(spread, rng)
        rarity = self._rarity(visits) / self.belief.horizon
        room = self.room
        bonuses = bonus * room * rarity
        if not self.belief.good:
            inside = self._world.inside(self._world.fine)
            scores = np.where(inside > 0, verdict.values, OUTSIDE)
            verdict = SuccessLogit(verdict.first, scores, verdict.flag, verdict.intercept)
        return self._decide(verdict, 1.0 - (1.0 - room) * rarity, bonuses)

    def _novelty(self, visits: Floats) -> float:
        """Plan for the largest mean novelty inside the box."""
        nothing = SuccessLogit(self.belief.horizon + 1, np.zeros(len(visits)), 0.0, -700.0)
        bonuses = self._world.leads_inside * self._rarity(visits) / self.belief.horizon
        return self._decide(nothing, np.ones_like(bonuses), bonuses).value

    @staticmethod
    def _rarity(visits: Floats) -> Floats:
        return np.asarray(1.0 / (1.0 + visits))

    def _decide(self, verdict: SuccessLogit, factors: Floats, bonuses: Floats) -> Decision:
        H = self.belief.horizon
        counted = max(H + 1 - verdict.first, 1)
        problem = NetProblem(
            self._model,
            H,
            verdict.first,
            verdict.values / counted,
            verdict.intercept,
            verdict.flag,
            factors,
            bonuses,
        )
        values = solve(problem)
        chosen, weights = self._starts
        scaling = self._world.scaling
        return Decision(
            NetPolicy.of(scaling.centre, scaling.unit, self._world.fine, problem, values),
            float((values.success[chosen] * weights).sum(axis=1).mean()),
            float((values.planned[chosen] * weights).sum(axis=1).mean()),
            values.success,
        )
