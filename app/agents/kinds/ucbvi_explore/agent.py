"""The paper's Algorithms 2 and 3: find policies that reach every direction, then be optimistic.

Exploration (see `exploration`) needs no labels. After it every episode is labelled: with
probability t^(-1/3) the agent plays one of the policies that exploration found, otherwise the
optimistic plan. Episodes that finished before exploration ended belong to exploration; the order of
the episodes in the experience shows which these are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from app.agents.base import Mode
from app.agents.kinds.ucbvi_explore.exploration import Exploration, Knowledge
from app.agents.kinds.ucbvi_explore.options import UcbviExploreOptions
from app.agents.kinds.ucbvi_explore.size import exploration_size, sentence
from app.agents.spec import AgentSpec
from app.agents.tabular.belief import Learned
from app.agents.tabular.optimist import GridOptimist
from app.errors import BudgetExceeded, InvalidValue
from app.learning.arrays import Arrays, Floats
from app.learning.logistic.labelled import LabelledTrajectories
from app.learning.paper.confidence import ALGORITHM_3
from app.learning.paper.explorability import condition_bound
from app.learning.paper.regret_bounds import Constants, controlled_from, exploration_regret
from app.learning.randomness import generator
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy
from app.planning.policies.mixture import MixturePolicy
from app.planning.policies.uniform import plan_uniform
from app.planning.problem import Plan, PlanBudget, PlanningProblem
from app.planning.reward.planner import plan_reward
from app.wire.base import JsonObject

REWARD_WORK = 1e7  # successors that a reward-space plan reads; a finer grid is not worth more
EXAMPLES, ENTRIES = 5, 5  # directions to report, and the features to name of each
MOST_ENTRIES = 200_000  # of the tables of U_bar in one policy
_COIN = 4  # address of the generator


class UcbviExplore(GridOptimist[UcbviExploreOptions]):
    """Explores the feature space without labels, then plans optimistically."""

    theorem: ClassVar[int] = ALGORITHM_3

    def __init__(self, spec: AgentSpec, budget: PlanBudget | None = None) -> None:
        super().__init__(spec, budget)
        features = self.beliefs[0].features.by_steps
        if features is None:
            raise InvalidValue(
                "features.kind", "one_hot or table: events and automata are no sums over steps"
            )
        self.features = features
        self._episodes, self.size = exploration_size(self.options, features)
        first = self._first_direction(features.dimension)
        self.exploration = Exploration(
            features, self.size, spec.seed, self._knowledge(), first, self.allowed
        )

    def _first_direction(self, dimension: int) -> Floats | None:
        """v_1 as the client gives it, or None."""
        if self.options.first_direction is None:
            return None
        direction = np.array(self.options.first_direction, dtype=np.float64)
        if len(direction) != dimension or not direction.any():
            expected = f"{dimension} numbers, one for each feature, not all 0"
            raise InvalidValue("algorithm.first_direction", expected)
        return direction

    @property
    def episodes(self) -> int:
        """N as given, or as the constants require."""
        return self._episodes

    def _knowledge(self) -> Knowledge:
        return Knowledge.of(self.experience.transitions, self.start())

    def finish(self, episode: int, trajectory: Trajectory) -> None:
        """Learn the transitions of an episode, and advance exploration."""
        super().finish(episode, trajectory)
        self.exploration.observe(trajectory, self._knowledge)

    def patience(self) -> int:
        """Zero: EULER learns without labels, and later exploring depends on t."""
        return 0

    def plan(
        self,
        episode: int,
        mode: Mode = "learn",
        pending: Sequence[Policy] = (),
        certify: bool = True,
    ) -> Plan:
        """Explore without a label; afterwards the mixture or the optimistic plan, with one."""
        if mode == "exploit":
            return super().plan(episode, mode, pending, certify)
        if not self.exploration.is_done:
            return self.exploration.plan(self._knowledge())
        optimistic = super().plan(episode, mode, pending, certify)
        return self._mixed(optimistic, (episode + 1.0) ** (-1.0 / 3.0), episode)

    def _mixed(self, plan: Plan, chance: float, episode: int) -> Plan:
        """Mix U_bar, with probability t^(-1/3), and the plan. Each episode draws one of them.

        If U_bar has too many tables to send with every plan, a random part of them is sent.
        """
        tables = self.exploration.tables()
        most = max(int(MOST_ENTRIES / max(tables[:1].size, 1)), 1)
        if len(tables) > most:
            rng = generator(self.spec.seed, _COIN, episode)
            tables = tables[np.sort(rng.choice(len(tables), most, replace=False))]
        policy = MixturePolicy(chance, self.spec.actions, tables, plan.policy, self.allowed)
        unknown = plan_uniform(self.spec.actions, self.allowed)
        return replace(
            plan,
            policy=policy,
            value=chance * unknown.value + (1.0 - chance) * plan.value,
            lower=chance * unknown.lower + (1.0 - chance) * plan.lower,
            bytes=plan.bytes + tables.nbytes,
        )

    @property
    def _is_first(self) -> bool:
        return len(self.experience.episodes) == self.exploration.episodes

    def _plan_reward(self, problem: PlanningProblem) -> Plan:
        """Plan in reward space on the finest grid that the budget allows.

        With tuned constants the grid is coarser after the first plan, to save time. The gap of the
        plan is certified; it exceeds epsilon where no finer grid fits.
        """
        if self._paper:
            return super()._plan_reward(problem)
        lengths = np.diff(problem.transitions.indptr)
        successors = np.where(lengths > 0, lengths, problem.states).mean() * problem.actions
        cells = min(self.budget.cells, REWARD_WORK / float(successors))
        bounded = replace(self.budget, cells=cells)
        try:
            return plan_reward(problem, self.options.epsilon, bounded)
        except BudgetExceeded:
            return plan_reward(problem, self.options.epsilon, self.budget, refine=False)

    def _episode_number(self) -> int:
        return self.exploration.episodes + len(self._labelled_since()) + 1

    def _labelled_since(self) -> list[int]:
        """The episodes after exploration, in order, one entry for each of their labels."""
        since = list(self.experience.episodes)[self.exploration.episodes :]
        given = Counter(episode for episode, _ in self.experience.labels)
        return [number for number in since for _ in range(given[number])]

    def design_data(self, learned: Learned) -> LabelledTrajectories:
        """The labelled episodes after exploration; labels of earlier episodes do not count."""
        features, since = self.features, self._labelled_since()
        if len(since) == len(self.experience.labels):
            return learned.belief.data
        data = LabelledTrajectories(features.dimension)
        for number in since:
            data.add(features.row(self.experience.episodes[number]), 0)
        return data

    def regret_bound(self, episodes: float) -> float:
        """The bound of Algorithm 3, with this agent's omega and constants."""
        return exploration_regret(self._theory(), episodes, self.size.omega, self._constants)

    @property
    def _constants(self) -> Constants:
        return Constants(self.options.euler_constant, self.options.eval_constant)

    def _condition_bound(self, labels: float) -> float:
        """Psi_t once t >= t_0; before that, a bound that holds for any features."""
        t, found = self._episode_number() - 1, self.exploration
        first = controlled_from(self._theory(), self.episodes, self.size.omega, self._constants)
        if not found.is_done or t < max(first, found.episodes + 2):
            return super()._condition_bound(labels)
        d, omega = self.features.dimension, self.size.omega
        return condition_bound(d, self.episodes, omega, t, found.episodes)

    def check_budget(self) -> None:
        """Refuse a specification whose exploration would not fit in memory."""
        super().check_budget()
        H, S, _ = self.spaces.shape
        per_loop = 8.0 * self.features.dimension + 4.0 * H * S
        needed = self.size.most_loops * per_loop
        if needed > self.budget.bytes:
            raise BudgetExceeded(
                "exploration: bytes", needed, self.budget.bytes,
                "lower algorithm.max_loops, the horizon or the number of states",
            )  # fmt: skip

    def progress(self) -> JsonObject:
        """The phase of exploration, the episodes it may still take, and directions not reached."""
        found, size = self.exploration, self.size
        whole = replace(found.coverage, active=None)
        return {
            "phase": "optimism" if found.is_done else found.phase,
            "loop": found.loops + (not found.is_done),
            "most_loops": size.most_loops,
            "smallest_eigenvalue": whole.smallest,
            "goal": whole.goal,
            "omega": size.omega,
            "n_euler": size.n_euler,
            "n_eval": size.n_eval,
            "episodes": self.episodes,
            "exploration_episodes": found.episodes,
            "most_exploration_episodes": size.most_episodes,
            "message": sentence(size),
            "not_reached": self._not_reached() if found.is_done else None,
        }

    def _not_reached(self) -> JsonObject:
        """The number of directions that exploration did not cover, and some of them."""
        count, directions = self.exploration.coverage.unreached(EXAMPLES)
        examples = []
        for direction in directions:
            largest = np.argsort(-np.abs(direction), kind="stable")[:ENTRIES]
            entries = [(int(j), float(direction[j])) for j in largest if direction[j] != 0.0]
            examples.append([{"feature": j, "weight": weight} for j, weight in entries])
        return {"directions": count, "of": self.features.dimension, "examples": examples}

    def warnings(self) -> dict[str, str]:
        """Warn where the paper's assumptions fail, and about long exploration."""
        features, found = self.features, super().warnings()
        if self._paper:
            found["long_exploration"] = sentence(self.size)
        if not features.has_orthogonal_steps:
            found["steps_not_orthogonal"] = (
                "The features of different steps are not orthogonal, which the theory of "
                "exploration asks for: bonuses per step may exceed those of whole episodes by "
                "more than it allows."
            )
        if features.has_constant_steps:
            found["directions_out_of_reach"] = (
                "With one-hot features of several steps some directions cannot be reached on any "
                "task, such as the difference of all features of two steps; they are given up."
            )
        if self.exploration.is_done and (missing := self._not_reached())["directions"]:
            found["directions_not_reached"] = (
                f"Exploration did not reach {missing['directions']} of {missing['of']} directions "
                "of the feature space; progress names some."
            )
        return found

    def _own_arrays(self) -> Arrays:
        explored = {f"explore.{key}": value for key, value in self.exploration.arrays().items()}
        return super()._own_arrays() | explored

    def _load_own(self, arrays: Arrays) -> None:
        super()._load_own(arrays)
        prefix = "explore."
        self.exploration.load(
            {key[len(prefix) :]: value for key, value in arrays.items() if key.startswith(prefix)}
        )
