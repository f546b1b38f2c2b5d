"""Trajectories of stored episodes, for agents that learn them and insights that judge them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from app.learning.arrays import Floats
from app.learning.trajectory import UNREPORTED, Trajectory
from app.storage.queries.training import PlayedEpisode


class PlayedStep(Protocol):
    """A stored step: the indices of its state and action, and the numbers that were observed."""

    @property
    def state(self) -> int:
        """The index of the state."""

    @property
    def action(self) -> int:
        """The index of the action."""

    @property
    def observation(self) -> list[float] | None:
        """The numbers that the client sent, if it sent any."""


def trajectory_of(
    steps: Sequence[PlayedStep], final: int | None = None, ended: bool = False
) -> Trajectory:
    """The trajectory of some steps, for an insight: state indices, and observations if any."""
    observations = [step.observation for step in steps if step.observation is not None]
    return Trajectory(
        np.array([step.state for step in steps], dtype=np.int64),
        np.array([step.action for step in steps], dtype=np.int64),
        UNREPORTED if final is None else final,
        ended,
        np.array(observations, dtype=np.float64) if observations else None,
    )


def trajectory_to_learn(played: PlayedEpisode, has_end: bool, observes: bool) -> Trajectory:
    """The trajectory of an episode, for an agent that learns it.

    It has the end of the episode only with ``has_end``: a later event may have reported it. With
    ``observes`` it has observations instead of state indices.
    """
    actions = np.array([step.action for step in played.steps], dtype=np.int64)
    ended = has_end and played.row.ended
    if observes:
        observations = np.array([step.observation for step in played.steps], dtype=np.float64)
        last = final_observation(played) if has_end else None
        return Trajectory.observed(observations.reshape(len(actions), -1), actions, ended, last)
    states = np.array([step.state for step in played.steps], dtype=np.int64)
    return Trajectory(states, actions, final_state(played) if has_end else UNREPORTED, ended)


def final_state(played: PlayedEpisode) -> int:
    """The index of the state that the last action led to; `UNREPORTED` if it is not known."""
    return UNREPORTED if played.row.final is None else played.row.final


def final_observation(played: PlayedEpisode) -> Floats | None:
    """The observation that the last action led to, if it is known."""
    numbers = played.row.final_observation
    return None if numbers is None else np.array(numbers, dtype=np.float64)
