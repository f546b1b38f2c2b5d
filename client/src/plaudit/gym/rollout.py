"""Rollouts: what happened in one episode of an environment, for those who judge it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Rollout:
    """One episode of an environment as it was played.

    A label function gets it: ``label=lambda episode: episode.total_reward > 0``.
    """

    id: str | None = None
    """The id of the episode on the server; None where it is played here only."""
    observations: list[Any] = field(default_factory=list)
    """What the environment showed, the one that it ended in too."""
    actions: list[Any] = field(default_factory=list)
    """What was done, as the environment took it."""
    rewards: list[float] = field(default_factory=list)
    """What the environment paid. Agents never see it."""
    infos: list[dict[str, Any]] = field(default_factory=list)
    """The info dictionaries of the environment; the first is that of the reset."""
    terminated: bool = False
    """Whether the environment ended the episode."""
    truncated: bool = False
    """Whether it was cut off: by a limit of time, or at the agent's horizon."""

    @property
    def total_reward(self) -> float:
        """The sum of the rewards."""
        return float(sum(self.rewards))

    @property
    def length(self) -> int:
        """The number of steps."""
        return len(self.actions)

    @property
    def over(self) -> bool:
        """Whether it was ended or cut."""
        return self.terminated or self.truncated

    def begin(self, observation: Any, info: dict[str, Any]) -> None:
        """Take in what a reset gave."""
        self.observations.append(observation)
        self.infos.append(info)

    def add(
        self,
        action: Any,
        observation: Any,
        reward: float,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        """Take in one step."""
        self.actions.append(action)
        self.observations.append(observation)
        self.rewards.append(float(reward))
        self.infos.append(info)
        self.terminated, self.truncated = bool(terminated), bool(truncated)
