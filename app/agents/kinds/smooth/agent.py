"""`smooth`: learns from tens of labels where observations are numbers that change smoothly.

It learns the dynamics from every step, labelled or not, and what labels depend on from a few dozen
labels. It plans on a net of visited states. The model is a function of the log and the seed: the
dynamics are learned again at checkpoints of the log, and a corrected label gives the model of the
corrected log.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from app.agents.base import Agent, Mode
from app.agents.insight import Insight
from app.agents.kinds.smooth.belief import MOST_EPISODES, Belief, Notes
from app.agents.kinds.smooth.decision import Decision, Planner
from app.agents.kinds.smooth.insight import SmoothInsight
from app.agents.kinds.smooth.log import checkpoint, pack_paths, path_of, unpack_paths
from app.agents.kinds.smooth.options import SmoothOptions
from app.agents.kinds.smooth.side_by_side import expected_visits
from app.agents.spec import AgentSpec
from app.errors import BudgetExceeded
from app.learning.arrays import Arrays, Floats
from app.learning.continuous.steps import Path
from app.learning.continuous.world import Bounds, World
from app.learning.logistic.information import label_information
from app.learning.randomness import generator
from app.learning.trajectory import Trajectory
from app.learning.world.policy import Policy
from app.planning.policies.uniform import plan_uniform
from app.planning.problem import Plan, PlanBudget
from app.wire.base import JsonObject

_WORLD, _LABELS, _DRAWS = 11, 12, 13  # addresses of generators
_LEAST_CENTRES = 100
_POLICY_NUMBERS = 4_000_000  # that a policy may hold
_LEAST_GRID = 5


class Smooth(Agent[SmoothOptions]):
    """Plans on a net of visited states, with learned dynamics and a learned label model."""

    insight_type: ClassVar[type[Insight]] = SmoothInsight

    def __init__(self, spec: AgentSpec, budget: PlanBudget | None = None) -> None:
        super().__init__(spec, budget)
        box = spec.observations
        assert box is not None  # the base class has refused a specification without observations
        self._bounds = Bounds(np.array(box.low), np.array(box.high), spec.actions)
        self._abandoned: list[Path] = []
        self._paths: dict[int, Path] = {}
        self._world: tuple[tuple[int, ...], Notes] | None = None
        self._planner: tuple[tuple[Any, ...], Planner] | None = None
        self.check_budget()

    @property
    def centres(self) -> int:
        """The largest number of centres of a plan; fewer for a long horizon."""
        return min(self.options.centres, _POLICY_NUMBERS // (_LEAST_GRID * self.spec.horizon))

    def check_budget(self) -> None:
        """Refuse a horizon, dimension or number of actions whose plans exceed the budget."""
        H, A, d = self.spec.horizon, self.spec.actions, len(self._bounds.low)
        if self.centres < _LEAST_CENTRES:
            raise BudgetExceeded(
                "numbers of one policy",
                _LEAST_CENTRES * _LEAST_GRID * H,
                _POLICY_NUMBERS,
                "lower the horizon",
            )
        local = self.centres * (2 * (d + A) + 6) * (1 + A + d)
        needed = 8.0 * max(local, MOST_EPISODES * H * d)
        if needed > self.budget.bytes:
            what = "bytes for the neighbours of every centre, or the states of labelled episodes"
            lower = (
                "lower the number of observed numbers or actions, the horizon, or algorithm.centres"
            )
            raise BudgetExceeded(what, needed, self.budget.bytes, lower)

    def abandon(self, trajectory: Trajectory) -> None:
        """Learn the transitions of an episode that never gets a label."""
        super().abandon(trajectory)
        if len(trajectory):
            self._abandoned.append(path_of(trajectory))

    def refit(self) -> None:
        """Fit the dynamics and the labels now, so that the next `plan` is faster."""
        planner = self._current()
        if planner is not None:
            _ = planner.exploit

    def patience(self) -> int:
        """One label at first; later plan again when all or good labels grew by 1/30."""
        labels = len(self.experience.labels)
        return max(1, min(labels // 30, self.experience.positives // 30))

    def plan(
        self,
        episode: int,
        mode: Mode = "learn",
        pending: Sequence[Policy] = (),
        certify: bool = True,  # noqa: ARG002 - every kind takes it
    ) -> Plan:
        """Plan on the net; uniform actions if nothing is known or nothing seems better.

        Nothing is certified: ``value`` is the success probability of the policy in the model.
        """
        began = time.perf_counter()
        planner = self._current()
        if planner is None:
            return plan_uniform(self.spec.actions)
        decision = self._decide(planner, episode, mode, pending)
        if decision is None:
            return plan_uniform(self.spec.actions)
        policy, value = decision.policy, min(max(decision.success, 0.0), 1.0)
        numbers = policy.early.size + policy.late.size
        seconds = time.perf_counter() - began
        return Plan("net", policy, value, 1.0, 0.0, numbers, 4 * numbers, seconds)

    def _decide(
        self, planner: Planner, episode: int, mode: Mode, pending: Sequence[Policy]
    ) -> Decision | None:
        if mode == "exploit":
            return planner.exploit
        rng = generator(self.spec.seed, _DRAWS, episode)
        visits = expected_visits(planner.belief.world, pending, self.spec.horizon, rng)
        return planner.learn(episode, rng, visits)

    def insight(self) -> SmoothInsight | None:
        """The label model, the exploit plan and the net; None before the first step."""
        planner = self._current()
        return None if planner is None else SmoothInsight.of(planner)

    def information(self, episodes: Sequence[int]) -> Floats:
        """The expected information of each label about what labels depend on."""
        planner = self._current()
        if planner is None or not episodes:
            return np.zeros(len(episodes))
        played = {number: self._path(number) for number in episodes}
        return label_information(*planner.belief.predict(played))

    def progress(self) -> JsonObject:
        """What the labels seem to depend on, and the size of the model."""
        planner = self._current()
        if planner is None:
            return {"steps": 0, "centres": 0, "labels_depend_on": None, "relevance": None}
        world = planner.belief.world
        return {
            "steps": world.total,
            "centres": len(world.fine),
            "labels_depend_on": planner.belief.best.name,
            "relevance": np.round(world.scaling.relevance, 3).tolist(),
        }

    def warnings(self) -> dict[str, str]:
        """Warn about likely mistakes in the specification."""
        found, planner = {}, self._current()
        if self.spec.features is not None:
            found["features_unused"] = (
                "`smooth` finds out by itself what labels depend on; features are unused."
            )
        return found | ({} if planner is None else planner.belief.world.warnings())

    def _path(self, episode: int) -> Path:
        """An episode as a path; rebuilt when its end is reported later."""
        known, trajectory = self._paths.get(episode), self.experience.episodes[episode]
        reported = trajectory.final_observation is not None
        if known is None or (known.final is not None) != reported:
            known = self._paths[episode] = path_of(trajectory)
        return known

    def _current(self) -> Planner | None:
        """The planner for everything known now; None before the first step."""
        world = self._learned_world()
        if world is None:
            return None
        learned, notes = world
        verdicts = self.experience.sorted_labels()
        reported = sum(t.final_observation is not None for t in self.experience.episodes.values())
        key = (*learned, reported, tuple(verdicts))
        if self._planner is None or self._planner[0] != key:
            paths = {episode: self._path(episode) for episode, _ in verdicts}
            self._planner = (
                key,
                Planner(Belief(notes, paths, verdicts, self.spec.seed)),
            )
        return self._planner[1]

    def _learned_world(self) -> tuple[tuple[int, ...], Notes] | None:
        """The dynamics learned at the last checkpoint of the log; None before any transition."""
        numbers = [n for n, played in self.experience.episodes.items() if len(played)]
        numbers = numbers[: checkpoint(len(numbers))]
        given_up = self._abandoned[: checkpoint(len(self._abandoned))]
        paths = [self._path(number) for number in numbers] + given_up
        if not any(len(path) > 1 or path.final is not None for path in paths):
            return None
        reported = sum(path.final is not None for path in paths)
        key = len(numbers), len(given_up), reported
        if self._world is None or self._world[0] != key:
            rng = generator(self.spec.seed, _WORLD, *key)
            world = World(paths, self._bounds, self.centres, rng)
            self._world = key, Notes(world, self.spec.horizon)
        return self._world

    def _own_arrays(self) -> Arrays:
        """The steps of abandoned episodes; everything else is computed from the log."""
        return pack_paths(self._abandoned, len(self._bounds.low))

    def _load_own(self, arrays: Arrays) -> None:
        self._abandoned = unpack_paths(arrays)
