"""The paper's Algorithm 2: a mixture of policies that together reach every direction of phi.

Loop n has three parts. It chooses v_n, the direction that is covered least. EULER then learns to
reach v_n for N_EUL episodes; its reward v_n . phi_h is known, so no label is needed. Last, the plan
of EULER is played for N_EVAL episodes, and the mean a_n of their features is added. Exploration
ends when the smallest eigenvalue of omega^2 / 16 I + sum a_n a_n^T is omega^2 / 8.

The paper leaves some choices open:
- U_n is the last policy of EULER, not the mixture of all its policies. It is better than their
  average, it is one table, and its actions show which episodes played it. The proof needs
  (v_n . a_n)^2 >= 3 omega^2 / 16, which the evaluation measures.
- An eigenvector has two signs, and one of them may be unreachable because counts are never
  negative. The sign with the larger optimistic value is used. Among directions that are covered
  equally little, the search looks for one that an optimistic plan reaches well.
- Directions whose optimistic value is below sqrt(3)/4 omega are given up without playing. The
  number of loops is always bounded.

The state depends only on the finished and abandoned episodes and their order.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.errors import SnapshotError
from app.learning.arrays import Arrays, Booleans, Floats
from app.learning.features.base import StepFeatures
from app.learning.paper.coverage import Coverage
from app.learning.paper.euler import EulerPlan, KnownReward, plan_euler
from app.learning.paper.explorability import REACHED
from app.learning.randomness import generator
from app.learning.trajectory import Trajectory
from app.learning.world.model import TransitionModel
from app.learning.world.occupancy import occupancy
from app.learning.world.transitions import TransitionCounts
from app.planning.policies.markov import MarkovPolicy
from app.planning.problem import Plan

Phase = Literal["euler", "evaluation", "done"]
PHASES: tuple[Phase, ...] = ("euler", "evaluation", "done")

RESTARTS, ROUNDS = 2, 4  # of the search for a reachable direction
BETTER = 1e-9  # the least improvement for another round
_DIRECTIONS = 3  # address of the generator


@dataclass(frozen=True)
class ExplorationSize:
    """The length of exploration, and the optimism of EULER."""

    omega: float
    n_euler: int
    n_eval: int
    most_loops: int
    confidence: float  # c of the bonus
    span: float | None = None  # R of the bonus; the reward's own range where not given

    @property
    def per_loop(self) -> int:
        """The number of episodes in one loop."""
        return self.n_euler + self.n_eval

    @property
    def most_episodes(self) -> int:
        """The largest number of episodes that exploration can take."""
        return self.most_loops * self.per_loop


@dataclass(frozen=True)
class Knowledge:
    """The estimated transitions and visit counts at one moment."""

    model: TransitionModel
    counts: Floats  # (S*A,): the known successors
    start: Floats  # (S,)

    @classmethod
    def of(cls, transitions: TransitionCounts, start: Floats) -> Knowledge:
        """Estimate from counted transitions."""
        return cls(transitions.estimate(), transitions.successors(), start)


class Exploration:
    """The state of Algorithm 2, updated after every finished episode."""

    def __init__(
        self,
        features: StepFeatures,
        size: ExplorationSize,
        seed: int,
        first: Knowledge,
        first_direction: Floats | None = None,
        allowed: Booleans | None = None,
    ) -> None:
        self.features, self.size, self.seed = features, size, seed
        self.allowed = allowed  # (S, A): the possible actions; None: every action
        self.scale = (
            features.largest_norm() or 1.0
        )  # divides the features, so that ||phi(tau)|| <= 1 as in the paper
        d = features.dimension
        self.coverage = Coverage(size.omega, np.zeros((0, d)))
        self.policies: list[MarkovPolicy] = []  # U_1, U_2, ...
        self.reached: list[float] = []  # v_n . a_n of every loop
        self.phase: Phase = "euler"
        self.count = 0  # episodes of this phase
        self.episodes = 0  # finished episodes since the beginning
        self.total = np.zeros(d)  # of phi(tau), over the evaluation's episodes
        self.direction = np.zeros(d)
        self._next_loop(first)
        if first_direction is not None and not self.is_done:
            self.direction = _unit(first_direction)  # v_1 of the paper's input

    @property
    def is_done(self) -> bool:
        """Whether exploration has ended."""
        return self.phase == "done"

    @property
    def loops(self) -> int:
        """The number of complete loops."""
        return len(self.coverage.averages)

    def plan(self, now: Knowledge) -> Plan:
        """Plan the next episode: EULER's plan for this direction, or U_n to evaluate it.

        Its value is the expected v_n . phi(tau), by optimism or in the estimate.
        """
        began = time.perf_counter()
        euler = self._euler(self.direction, now)
        upper = float(now.start @ euler.upper[0])
        policy, value = _policy(euler), upper
        if self.phase == "evaluation":
            policy = self.policies[-1]
            reached = occupancy(now.model, now.start, policy.actions)
            mean = self.direction @ self.features.mean(reached) / self.scale
            value = min(float(mean), upper)
        table, seconds = policy.actions, time.perf_counter() - began
        return Plan(
            self.phase, policy, value, upper, value, table.size, table.nbytes, seconds, False
        )

    def tables(self) -> NDArray[np.int32]:
        """The action tables of U_1, U_2, ..., (n, H, S); U_bar draws one of them uniformly."""
        H, S, _ = self.features.spaces.shape
        tables = [policy.actions for policy in self.policies]
        return np.array(tables, dtype=np.int32).reshape(-1, H, S)

    def observe(self, trajectory: Trajectory, now: Callable[[], Knowledge]) -> None:
        """Add one finished episode. ``now`` computes the estimate that includes it.

        EULER counts every episode. The evaluation counts an episode only if it took the actions of
        U_n, because an episode that started before the evaluation played another policy.
        """
        if self.is_done:
            return
        self.episodes += 1
        if self.phase == "euler":
            self.count += 1
            if self.count == self.size.n_euler:
                self.policies.append(_policy(self._euler(self.direction, now())))
                self.phase, self.count = "evaluation", 0
        elif len(trajectory) and self.policies[-1].agrees(trajectory):
            indices, values = self.features.row(trajectory)
            self.total[indices] += values / self.scale
            self.count += 1
            if self.count == self.size.n_eval:
                self._end_loop(now())

    def _end_loop(self, now: Knowledge) -> None:
        average = self.total / self.count
        self.coverage = self.coverage.add(average)
        self.reached.append(float(self.direction @ average))
        self.count, self.total = 0, np.zeros(len(average))
        self._next_loop(now)

    def _next_loop(self, now: Knowledge) -> None:
        """Begin the next loop, or end exploration."""
        rng = generator(self.seed, _DIRECTIONS, self.loops)
        while not self.coverage.is_covered and self.loops < self.size.most_loops:
            direction, promise = self._most_reachable(now, rng)
            if promise >= REACHED * self.size.omega:
                self.phase, self.direction = "euler", direction
                return
            self.coverage = self.coverage.give_up()
        self.phase = "done"

    def _most_reachable(self, now: Knowledge, rng: np.random.Generator) -> tuple[Floats, float]:
        """Choose a direction that is covered least and that an optimistic plan reaches well.

        The search starts at a random direction and alternates: plan for the direction, then
        replace it by the mean features of the plan. It keeps the best of a few random starts.
        """
        best, promise = np.zeros(self.features.dimension), -math.inf
        for _ in range(RESTARTS if self.coverage.tied > 1 else 1):
            direction, last = _unit(self._random(rng)), -math.inf
            for _ in range(ROUNDS):
                direction, plan, value = self._better_sign(direction, now)
                if value > promise:
                    best, promise = direction, value
                if value <= last + BETTER or self.coverage.tied == 1:
                    break
                last = value
                reached = occupancy(now.model, now.start, plan.actions)
                novel = self.coverage.novel(self.features.mean(reached))
                if not novel.any():
                    break
                direction = _unit(novel)
        return best, promise

    def _random(self, rng: np.random.Generator) -> Floats:
        return self.coverage.novel(rng.standard_normal(self.features.dimension))

    def _better_sign(self, direction: Floats, now: Knowledge) -> tuple[Floats, EulerPlan, float]:
        """The direction or its opposite, whichever has the larger optimistic value."""
        plans = [(sign * direction, self._euler(sign * direction, now)) for sign in (1.0, -1.0)]
        values = [float(now.start @ plan.upper[0]) for _, plan in plans]
        better = int(values[1] > values[0])
        return *plans[better], values[better]

    def _euler(self, direction: Floats, now: Knowledge) -> EulerPlan:
        cells = self.features.spread(direction) / self.scale
        reward = KnownReward(cells, self.features.remainders(direction) / self.scale)
        span = reward.span() if self.size.span is None else self.size.span
        confidence = self.size.confidence
        return plan_euler(reward, now.model, now.counts, confidence, span, self.allowed)

    def arrays(self) -> Arrays:
        """Everything as plain arrays."""
        active = self.coverage.active
        return {
            "averages": self.coverage.averages,
            "whole": np.array(active is None),
            "active": np.zeros((0, len(self.total))) if active is None else active,
            "policies": self.tables(),
            "reached": np.array(self.reached),
            "counters": np.array([PHASES.index(self.phase), self.count, self.episodes]),
            "total": self.total,
            "direction": self.direction,
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Load what ``arrays`` returned; the state is the same to the bit."""
        try:
            active = None if arrays["whole"] else arrays["active"]
            phase, self.count, self.episodes = (int(number) for number in arrays["counters"])
            self.phase = PHASES[phase]
            for name in ("averages", "active", "total", "direction"):
                if arrays[name].shape[-1] != self.features.dimension:
                    raise ValueError(f"{name} of another feature map")
            self.coverage = Coverage(self.size.omega, arrays["averages"], active)
            self.policies = [MarkovPolicy(table) for table in arrays["policies"]]
            self.reached = arrays["reached"].tolist()
            self.total, self.direction = arrays["total"].copy(), arrays["direction"]
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise SnapshotError(f"exploration: {error!r}") from error


def _policy(plan: EulerPlan) -> MarkovPolicy:
    return MarkovPolicy(plan.actions.astype(np.int32))


def _unit(vector: Floats) -> Floats:
    unit: Floats = vector / np.linalg.norm(vector)
    return unit
