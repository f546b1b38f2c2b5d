"""What an agent believes, as tables: enough to explain a step, an episode or the whole model."""

from __future__ import annotations

import io
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from app.learning.arrays import Floats
from app.learning.trajectory import Trajectory
from app.learning.world.model import TransitionModel
from app.learning.world.policy import Policy
from app.learning.world.rollout import follow

ROLLOUTS = 200  # the deviation of a probability estimated with them is at most 0.036


@dataclass(frozen=True)
class Insight:
    """The estimate that exploit plans for, spread over (step, state, action), and the counts.

    Where features are events an automaton reads the states: entering s with memory m leads to
    ``update[m, s]``, and an episode is worth ``remembered`` of its last memory. Other features
    have the automaton that remembers nothing.
    """

    description: str  # of the features
    feature_weights: Floats  # (d,)
    offset: float
    weights: Floats  # (H, S, A): what a step adds to the logit of success
    ended_weights: Floats  # (H + 1, S + 1): what the steps after an end add
    update: NDArray[np.int64]  # (M, S)
    remembered: Floats  # (M,)
    bonuses: Floats  # (H, S, A): what exploring is worth
    visits: NDArray[np.int64]  # (S, A)
    start: Floats  # (S,)
    indptr: NDArray[np.int64]  # the estimated transitions, as in TransitionModel
    columns: NDArray[np.int64]
    probabilities: Floats

    @property
    def transitions(self) -> TransitionModel:
        """The estimated transitions."""
        _, S, A = self.weights.shape
        return TransitionModel(S, A, self.indptr, self.columns, self.probabilities)

    def shares(self, trajectory: Trajectory) -> tuple[Floats, float]:
        """What each step added to the logit of success, and what the steps after the end did."""
        n, (H, S, _) = len(trajectory), self.weights.shape
        own = self.weights[np.arange(n), trajectory.states, trajectory.actions]
        memories = [0]
        for state in trajectory.states.tolist():
            memories.append(int(self.update[memories[-1], state]))
        own = own + np.diff(self.remembered[memories])
        if not trajectory.ended:
            return own, 0.0
        rest = float(self.ended_weights[n, trajectory.final if trajectory.final >= 0 else S])
        if trajectory.final >= 0 and n < H:
            rest += self._gained(memories[-1], int(self.update[memories[-1], trajectory.final]))
        return own, rest

    def _gained(self, before: int, after: int) -> float:
        return float(self.remembered[after] - self.remembered[before])

    def predict(self, trajectory: Trajectory) -> float:
        """The probability that the episode is labelled good."""
        own, rest = self.shares(trajectory)
        return float(expit(self.offset + own.sum() + rest))

    def success_from(
        self, policy: Policy, played: Trajectory, memory: tuple[int, ...], rng: np.random.Generator
    ) -> float:
        """The chance of a good label when ``policy`` goes on from here, by rollouts in the model.

        ``played`` are the steps so far, the last of them just answered, with ``memory`` after it.
        """
        own, _ = self.shares(played)
        model = self.transitions
        cumulative = np.cumsum(model.probabilities)
        known = 0
        for state in played.states.tolist():
            known = int(self.update[known, state])
        here = len(played) - 1, int(played.states[-1]), int(played.actions[-1]), known, memory
        logits = [
            self._go_on(policy, model, cumulative, here, rng.random((len(self.weights), 2)))
            for _ in range(ROLLOUTS)
        ]
        return float(expit(self.offset + own.sum() + np.array(logits)).mean())

    def _go_on(
        self,
        policy: Policy,
        model: TransitionModel,
        cumulative: Floats,
        here: tuple[int, int, int, int, tuple[int, ...]],
        luck: Floats,
    ) -> float:
        """The logit that one rollout adds after the step that was just answered."""
        step, state, action, known, memory = here
        logit = -float(self.remembered[known])
        while step + 1 < len(self.weights):
            state = follow(model, cumulative, state, action, float(luck[step, 0]))
            step += 1
            if state >= model.states:
                ended = state - model.states
                known = known if ended == model.states else int(self.update[known, ended])
                return logit + float(self.ended_weights[step, ended] + self.remembered[known])
            known = int(self.update[known, state])
            action, memory = policy.act(step, state, memory, float(luck[step, 1]))
            logit += float(self.weights[step, state, action])
        return logit + float(self.remembered[known])

    def pack(self) -> bytes:
        """As a compressed npz file of plain arrays."""
        buffer = io.BytesIO()
        arrays = {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        return buffer.getvalue()

    @classmethod
    def unpack(cls, packed: bytes) -> Insight:
        """The tables that `pack` was given."""
        with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
            arrays: dict[str, Any] = {key: stored[key] for key in stored.files}
        arrays["description"] = str(arrays["description"])
        arrays["offset"] = float(arrays["offset"])
        return cls(**arrays)
