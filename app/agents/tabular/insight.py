"""The insight of kinds with numbered states: tables over (step, state, action)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from app.agents.insight import (
    Follower,
    Insight,
    ModelDocument,
    Optimism,
    Pair,
    Shares,
    StepExplanation,
    SuccessMap,
    Transition,
)
from app.agents.tabular import baseline, state_summary
from app.learning.arrays import Arrays, Booleans, Floats
from app.learning.trajectory import Trajectory
from app.learning.world.model import TransitionModel
from app.learning.world.policy import Policy
from app.learning.world.rollout import follow

ROLLOUTS = 200  # the deviation of a probability estimated with them is at most 0.036


@dataclass(frozen=True)
class TabularInsight(Insight):
    """The estimate that exploit plans for, as tables over (step, state, action), and the counts.

    Where features are events or an automaton, action a in state s with memory m leads to memory
    ``update[m, s, a]``, an early end in s to ``ends[m, s]``, and an episode is worth ``remembered``
    of its last memory. Other features have the automaton that remembers nothing.
    """

    description: str  # of the features
    feature_weights: Floats  # (d,)
    offset: float
    weights: Floats  # (H, S, A): what a step adds to the logit of success
    ended_weights: Floats  # (H + 1, S + 1): what the steps after an end add
    update: NDArray[np.int64]  # (M, S, A)
    ends: NDArray[np.int64]  # (M, S)
    remembered: Floats  # (M,)
    bonuses: Floats  # (H, S, A): what exploring is worth
    visits: NDArray[np.int64]  # (S, A)
    start: Floats  # (S,)
    indptr: NDArray[np.int64]  # the estimated transitions, as in TransitionModel
    columns: NDArray[np.int64]
    probabilities: Floats
    optimism: Floats = field(default_factory=lambda: np.zeros(0))  # as `Optimism.packed` gives it
    # (S, A): the possible actions; empty where every action is possible
    allowed: Booleans = field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))

    @property
    def possible(self) -> Booleans:
        """The possible actions of each state, shape (S, A)."""
        return self.allowed if self.allowed.size else np.ones(self.visits.shape, dtype=np.bool_)

    @property
    def transitions(self) -> TransitionModel:
        """The estimated transitions."""
        _, S, A = self.weights.shape
        return TransitionModel(S, A, self.indptr, self.columns, self.probabilities)

    def share(self, trajectory: Trajectory) -> Shares:
        """The contribution of each step to the log-odds, and that of an early end."""
        n, (H, S, _) = len(trajectory), self.weights.shape
        steps = self.weights[np.arange(n), trajectory.states, trajectory.actions]
        memories = self._memories(trajectory)
        offset = self.offset + float(self.remembered[0])
        steps = steps + np.diff(self.remembered[memories])
        if not trajectory.ended:
            return Shares(offset, steps, 0.0)
        rest = float(self.ended_weights[n, trajectory.final if trajectory.final >= 0 else S])
        if trajectory.final >= 0 and n < H:
            after = int(self.ends[memories[-1], trajectory.final])
            rest += float(self.remembered[after] - self.remembered[memories[-1]])
        return Shares(offset, steps, rest)

    def _memories(self, trajectory: Trajectory) -> list[int]:
        """The automaton's memory before the first step and after each step."""
        memories = [0]
        for state, action in zip(trajectory.states, trajectory.actions, strict=True):
            memories.append(int(self.update[memories[-1], state, action]))
        return memories

    def explain(
        self,
        policy: Policy | None,
        played: Trajectory,
        memory: tuple[int, ...],
        rng: np.random.Generator,
    ) -> StepExplanation:
        """Explain an action by rollouts of the policy in the model."""
        last = len(played) - 1
        state, action = int(played.states[last]), int(played.actions[last])
        if policy is None:
            chance = self.share(played).probability
        else:
            chance = self.success_from(policy, played, memory, rng)
        bonus = float(self.bonuses[last, state, action])
        share = bonus / (bonus + chance) if bonus + chance > 0 else 0.0
        return StepExplanation(self.tried(state, action), chance, share)

    def success_from(
        self, policy: Policy, played: Trajectory, memory: tuple[int, ...], rng: np.random.Generator
    ) -> float:
        """The probability of a good label when ``policy`` continues, by rollouts in the model.

        ``played`` are the steps so far, the last of them just answered, with ``memory`` after it.
        """
        shares = self.share(played)
        so_far = shares.offset + shares.steps.sum()
        model = self.transitions
        cumulative = np.cumsum(model.probabilities)
        known = self._memories(played)[-1]
        here = len(played) - 1, int(played.states[-1]), int(played.actions[-1]), known, memory
        logits = [
            self._go_on(policy, model, cumulative, here, rng.random((len(self.weights), 2)))
            for _ in range(ROLLOUTS)
        ]
        return float(expit(so_far + np.array(logits)).mean())

    def _go_on(
        self,
        policy: Policy,
        model: TransitionModel,
        cumulative: Floats,
        here: tuple[int, int, int, int, tuple[int, ...]],
        luck: Floats,
    ) -> float:
        """The logit that one rollout adds after the last step."""
        step, state, action, known, memory = here
        logit = -float(self.remembered[known])
        while step + 1 < len(self.weights):
            state = follow(model, cumulative, state, action, float(luck[step, 0]))
            step += 1
            if state >= model.states:
                ended = state - model.states
                known = known if ended == model.states else int(self.ends[known, ended])
                return logit + float(self.ended_weights[step, ended] + self.remembered[known])
            action, memory = policy.act(step, state, memory, float(luck[step, 1]))
            known = int(self.update[known, state, action])
            logit += float(self.weights[step, state, action])
        return logit + float(self.remembered[known])

    def success_map(
        self,
        dimensions: tuple[int, int] | None = None,  # noqa: ARG002 - states are not numbers
    ) -> SuccessMap:
        """One entry for each state."""
        return self._success_map

    @cached_property
    def _success_map(self) -> SuccessMap:
        return state_summary.success_map(self)

    def uniform_success(self, rng: np.random.Generator) -> float | None:
        """Simulate uniform actions in the model; None where the horizon is too long for that."""
        return None if len(self.weights) > baseline.LONGEST else baseline.uniform_success(self, rng)

    def least_known(self, count: int) -> list[Pair]:
        """The actions that were tried least, in states that were visited."""
        return state_summary.least_known(self, count)

    def tried(self, state: int, action: int) -> int:
        """How often an action was taken in a state."""
        return int(self.visits[state, action])

    def followers(self, state: int, action: int, most: int) -> list[Follower]:
        """The successors of a state and an action, most probable first."""
        return state_summary.followers_of(self, state, action, most)

    def document(self) -> ModelDocument:
        """The weights, visits, bonuses and transitions."""
        return ModelDocument(
            features=self.description,
            weights=self.feature_weights,
            intercept=self.offset,
            visits=self.visits,
            bonuses=self.bonuses.max(axis=0),
            start=self.start,
            transitions=self._tried_transitions(),
            optimism=Optimism.unpacked(self.optimism),
        )

    def _tried_transitions(self) -> list[Transition]:
        tried = np.flatnonzero(np.diff(self.indptr)).tolist()
        pairs = [divmod(row, self.visits.shape[1]) for row in tried]
        return [
            Transition(state, action, state_summary.row_of(self, row))
            for row, (state, action) in zip(tried, pairs, strict=True)
        ]

    def arrays(self) -> Arrays:
        """All fields by name."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Restore an insight from what ``arrays`` returned."""
        named: dict[str, Any] = dict(arrays)
        named["description"] = str(named["description"])
        named["offset"] = float(named["offset"])
        if "ends" not in named:  # stored by a version whose automata read states alone
            actions = named["weights"].shape[2]
            named["ends"] = named["update"]
            named["update"] = np.repeat(named["update"][:, :, None], actions, axis=2)
        return cls(**named)
