"""The base class of kinds that plan in a learned model of labels and transitions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar

import numpy as np

from app.agents.base import Agent
from app.agents.cost import Cost, fit_cost, sweep_cost, table_cost
from app.agents.insight import Insight
from app.agents.options import Options, PlanningOptions
from app.agents.spec import AgentSpec
from app.agents.tabular.belief import Belief, Learned
from app.agents.tabular.insight import TabularInsight
from app.errors import BudgetExceeded
from app.learning.arrays import Arrays, Floats
from app.learning.features.base import stack_rows
from app.learning.logistic.estimate import DENSE_LIMIT
from app.learning.logistic.information import label_information
from app.learning.randomness import uniform
from app.learning.world.model import TransitionModel
from app.learning.world.policy import Policy
from app.learning.world.rollout import expected_visits
from app.planning.fast.planner import SATURATION, first_width, plan_fast
from app.planning.limits import limit
from app.planning.problem import Plan, PlanBudget, PlanningProblem
from app.planning.tracked import check_tracked_budget, plan_on_plain_states

_ROLLOUTS = 2  # address of the random numbers of pending episodes
_ROOM_EPSILON = 0.05  # a rough value is enough to see how much there is to gain
_FEW_SUCCESSORS = 4.0  # of a state and action, for the predicted cost
_GOOD_LABELS = 5.0  # with more good labels, the value of the model counts more than half


AnyOptions = TypeVar("AnyOptions", bound=Options)


class ModelBased(Agent[AnyOptions]):
    """Models labels by beliefs, counts transitions, and plans in the model."""

    insight_type: ClassVar[type[Insight]] = TabularInsight
    sweeps: ClassVar[int] = 8  # of the grid in a learning job; one with a certificate is two

    def __init__(self, spec: AgentSpec, budget: PlanBudget | None = None) -> None:
        super().__init__(spec, budget)
        self.beliefs = self._make_beliefs()

    @abstractmethod
    def _make_beliefs(self) -> list[Belief]:
        """Create the beliefs of this kind, at least one."""

    @abstractmethod
    def best(self) -> Belief:
        """The belief that exploit plans for."""

    @abstractmethod
    def bonuses(self) -> Floats:
        """The exploration bonus of each cell in a learning plan, shape (H, S, A)."""

    def refit(self) -> None:
        """Fit the belief that exploit plans for."""
        self.best().follow(self.experience)

    def insight(self) -> TabularInsight:
        """The insight of the belief that exploit plans for."""
        learned = self.best().follow(self.experience)
        features, fit = learned.belief.features, learned.fit
        collected = features.tables.collected(fit.weights)
        model = self.experience.transitions.estimate()
        return TabularInsight(
            description=str(features),
            feature_weights=fit.weights,
            offset=fit.intercept,
            weights=collected.steps,
            ended_weights=collected.ends,
            update=collected.automaton.update,
            ends=collected.automaton.ended,
            remembered=collected.remembered,
            bonuses=self.bonuses(),
            visits=self.experience.transitions.visits.reshape(self.spaces.shape[1:]),
            start=self.start(),
            indptr=model.indptr,
            columns=model.columns,
            probabilities=model.probabilities,
            optimism=self.optimism(),
            allowed=np.zeros((0, 0), dtype=np.bool_) if self.allowed is None else self.allowed,
        )

    def warnings(self) -> dict[str, str]:
        """Warn about beliefs whose last fit did not converge."""
        failures = [
            f"The fit of the labels to {belief.features} did not converge: {belief.failure}. "
            "Plans and predictions use the best estimate that was found."
            for belief in self.beliefs
            if belief.failure is not None
        ]
        return {"fit_did_not_converge": " ".join(failures)} if failures else {}

    def optimism(self) -> Floats:
        """The packed `Optimism` at this episode; empty for kinds without optimism."""
        return np.zeros(0)

    def information(self, episodes: Sequence[int]) -> Floats:
        """The expected information, from the posterior deviation of each prediction."""
        learned = self.best().follow(self.experience)
        rows = stack_rows(
            [learned.belief.features.row(self.experience.episodes[n]) for n in episodes],
            learned.belief.features.dimension,
        )
        constant = 0.0 if learned.offset_precision is None else 1.0
        mean = rows @ learned.fit.weights + constant * learned.fit.intercept
        return label_information(np.asarray(mean), learned.posterior.norms(rows, constant))

    def patience(self) -> int:
        """One label at first; later a thirtieth of the labels, and of the good ones.

        Good labels are counted separately because they may be rare: a plan from a wrong label
        must be replaced soon.
        """
        labels = len(self.experience.labels)
        return max(1, min(labels // 30, self.experience.positives // 30))

    def start(self) -> Floats:
        """The distribution of the first state, given or estimated."""
        if self.given_start is not None:
            return self.given_start
        return self.experience.transitions.start()

    def problem(
        self,
        learned: Learned,
        weights: Floats,
        offset: float,
        bonuses: Floats | None = None,
        transitions: TransitionModel | None = None,
    ) -> PlanningProblem:
        """The planning problem of these weights, in the estimated transitions by default.

        Where the features need an automaton the problem is one of tracked states.
        """
        tables, tracker, start = learned.belief.tables, learned.belief.tracker, self.start()
        model = transitions or self.experience.transitions.estimate()
        bonus = np.zeros(self.spaces.shape) if bonuses is None else bonuses
        if tracker is not None:
            start, model = tracker.start(start), tracker.transitions(model)
            bonus = bonus[:, tracker.states]
        problem = PlanningProblem(
            start=start,
            transitions=model,
            weights=tables.spread(weights),
            bonuses=bonus,
            ended_weights=tables.remainders(weights),
            offset=offset,
        )
        return self.limited(learned, problem)

    def limited(self, learned: Learned, problem: PlanningProblem) -> PlanningProblem:
        """The problem with the possible actions alone."""
        if self.allowed is None:
            return problem
        tracker = learned.belief.tracker
        return limit(problem, self.allowed if tracker is None else self.allowed[tracker.states])

    def plain(self, learned: Learned, plan: Plan) -> Plan:
        """Convert a plan over tracked states to one that acts on the client's states."""
        tracker = learned.belief.tracker
        return plan if tracker is None else plan_on_plain_states(tracker, plan)

    def check_budget(self) -> None:
        """Refuse a specification whose grids or whose automaton exceed the budget."""
        spaces = self.spaces
        for belief in self.beliefs:
            if belief.tracker is not None:
                check_tracked_budget(belief.tracker, spaces.actions, spaces.horizon, self.budget)
            elif isinstance(self.options, PlanningOptions):
                self._check_grid(belief, self.options.epsilon)

    def job_cost(self) -> Cost:
        """The cost for the belief that takes the longest: fit, sweeps of the grid, and tables."""
        return max((self._cost_of(belief) for belief in self.beliefs), key=lambda c: c.seconds)

    def _cost_of(self, belief: Belief) -> Cost:
        H, S, A = self.spaces.shape
        tracked = S if belief.tracker is None else belief.tracker.size
        epsilon = self.options.epsilon if isinstance(self.options, PlanningOptions) else 1.0
        points = min(self._grid_points(belief, epsilon), self.budget.cells)
        sweep = sweep_cost(H * tracked, A, _FEW_SUCCESSORS, points)
        features = min(belief.features.dimension, DENSE_LIMIT)  # more are not factorised at once
        return Cost(self.sweeps * sweep) + table_cost(H * tracked, A) + fit_cost(features)

    def _grid_points(self, belief: Belief, epsilon: float) -> float:
        """The points of the widest grid that the fast planner may start with.

        Before the first step with features, every state has one grid point.
        """
        H, S, _ = self.spaces.shape
        points = 2.0 * SATURATION / first_width(epsilon, H) + 1.0
        first = belief.features.first_step
        return float(S * (first + (H - first) * points))

    def _check_grid(self, belief: Belief, epsilon: float) -> None:
        """Refuse the widest grid that the fast planner may start with."""
        needed = self._grid_points(belief, epsilon)
        if needed > self.budget.cells:
            raise BudgetExceeded(
                "grid points of one plan",
                needed,
                self.budget.cells,
                "lower the horizon or the number of states, or raise algorithm.epsilon",
            )

    def exploit(self, learned: Learned, epsilon: float, certify: bool) -> Plan:
        """Plan for the estimate, without bonuses."""
        problem = self.problem(learned, learned.fit.weights, learned.fit.intercept)
        return self.plain(learned, plan_fast(problem, epsilon, self.budget, certify))

    def room(self, learned: Learned) -> float:
        """The success still to gain, between 0 and 1.

        Exploration costs success, so it should end once the best known plan hardly ever fails. The
        model's value of that plan counts for more when more good labels support it.
        """
        value = min(1.0, self.exploit(learned, _ROOM_EPSILON, certify=False).value)
        good = self.experience.positives
        return 1.0 - value * good / (good + _GOOD_LABELS)

    def visit_bonus(self, largest: float, episode: int, pending: Sequence[Policy]) -> Floats:
        """largest / sqrt(1 + visits), with the visits that pending episodes will make.

        It is added to the value and never clipped at 1. If it were, all plans of a confident model
        would have the same value, and the agent would stop exploring.
        """
        counts, spaces = self.experience.transitions, self.spaces
        pairs = counts.visits.reshape(spaces.states, spaces.actions).astype(np.float64)
        visits = np.array(np.broadcast_to(pairs, spaces.shape))
        for belief in {id(belief.features): belief for belief in self.beliefs}.values():
            if belief.features.is_coarse:
                visits = belief.visits(self.experience, visits)
        if pending:
            seed = int(uniform(self.spec.seed, episode, _ROLLOUTS) * 2.0**53)
            visits += expected_visits(counts.estimate(), self.start(), pending, spaces, seed)
        return np.asarray(largest / np.sqrt(1.0 + visits))

    def _own_arrays(self) -> Arrays:
        return {
            f"{i}.{key}": value
            for i, belief in enumerate(self.beliefs)
            for key, value in belief.arrays().items()
        }

    def _load_own(self, arrays: Arrays) -> None:
        for i, belief in enumerate(self.beliefs):
            prefix = f"{i}."
            belief.load({k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)})
