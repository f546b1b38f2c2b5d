"""Trajectories of stored episodes, for agents that learn them and insights that judge them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from app.learning.arrays import Booleans, Floats
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


def trajectory_to_learn(
    played: PlayedEpisode, has_end: bool, observes: bool, choices: int = 0
) -> Trajectory:
    """The trajectory of an episode, for an agent that learns it.

    It has the end of the episode only with ``has_end``: a later event may have reported it. With
    ``observes`` it has observations instead of state indices; ``choices`` is the number of actions.
    """
    actions = np.array([step.action for step in played.steps], dtype=np.int64)
    ended, foreign = has_end and played.row.ended, _foreign(played)
    if observes:
        observations = np.array([step.observation for step in played.steps], dtype=np.float64)
        rows = observations.reshape(len(actions), -1)
        last = final_observation(played) if has_end else None
        allowed = _allowed(played, choices)
        return Trajectory.observed(rows, actions, ended, last, foreign, allowed)
    states = np.array([step.state for step in played.steps], dtype=np.int64)
    final = final_state(played) if has_end else UNREPORTED
    return Trajectory(states, actions, final, ended, foreign=foreign)


def _allowed(played: PlayedEpisode, choices: int) -> Booleans | None:
    """The possible actions of each step, of so many; None where everything was possible."""
    given = [step.allowed for step in played.steps]
    if all(one is None for one in given):
        return None
    allowed = np.ones((len(given), choices), dtype=np.bool_)
    for row, one in zip(allowed, given, strict=True):
        if one is not None:
            row[:] = np.isin(np.arange(choices), one)
    return allowed


def _foreign(played: PlayedEpisode) -> Booleans | None:
    """The steps in which somebody else than the policy acted; None where there are none."""
    foreign = [step.actor is not None for step in played.steps]
    return np.array(foreign, dtype=np.bool_) if any(foreign) else None


def final_state(played: PlayedEpisode) -> int:
    """The index of the state that the last action led to; `UNREPORTED` if it is not known."""
    return UNREPORTED if played.row.final is None else played.row.final


def final_observation(played: PlayedEpisode) -> Floats | None:
    """The observation that the last action led to, if it is known."""
    numbers = played.row.final_observation
    return None if numbers is None else np.array(numbers, dtype=np.float64)
