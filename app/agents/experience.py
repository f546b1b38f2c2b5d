"""Everything an agent has been told: its episodes and their labels.

The rest of an agent is a function of this and of its specification. A label that is replaced or
withdrawn leaves no trace: the state is what it would have been without it. Several people may judge
one episode: each has a voice, 0, 1, 2 …, and every voice's label is an observation of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidValue, SnapshotError
from app.learning.arrays import Arrays, Floats
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.transitions import TransitionCounts


class Change(NamedTuple):
    """A label that was given, or taken back."""

    episode: int
    label: int
    sign: int  # +1 given, -1 taken back
    voice: int = 0


class Experience:
    """The finished episodes by number, their labels, and the transitions they showed."""

    def __init__(self, spaces: Spaces, observed: int | None = None) -> None:
        self.spaces = spaces
        self.observed = observed  # how many numbers are seen; None: states are numbered
        self.transitions = TransitionCounts(spaces)
        self.episodes: dict[int, Trajectory] = {}
        self.labels: dict[tuple[int, int], int] = {}  # by (episode, voice)
        self.changes: list[Change] = []

    def finish(self, episode: int, trajectory: Trajectory) -> None:
        """An episode is over; its transitions count from now on, its label may come later."""
        if episode in self.episodes:
            raise InvalidValue("episode", f"a new number, {episode} is known")
        trajectory.check_observations(self.observed)
        self.transitions.add(trajectory)
        self.episodes[episode] = trajectory

    def report(
        self, episode: int, final: int, ended: bool = False, observation: Floats | None = None
    ) -> None:
        """Say what the last action of a finished episode led to, if nobody has said it yet.

        An agent that sees numbers is told the ``observation`` (k,) instead of the state ``final``.
        """
        known = self.episodes.get(episode)
        if known is None or known.is_reported:
            raise InvalidValue("episode", f"one whose end is not known, {episode} is not one")
        if self.observed is not None:
            whole = replace(known, final_observation=observation, ended=ended)
            whole.check_observations(self.observed)
            self.episodes[episode] = whole
            return
        whole = replace(known, final=final, ended=ended)
        whole.check(self.spaces.states, self.spaces.actions, self.spaces.horizon)
        self.transitions.report(whole)
        self.episodes[episode] = whole

    def abandon(self, trajectory: Trajectory) -> None:
        """An episode was given up: its transitions count, and no label will come."""
        trajectory.check_observations(self.observed)
        self.transitions.add(trajectory)

    def label(self, episode: int, label: int, voice: int = 0) -> None:
        """Give a finished episode a label, or replace the one it has of this voice."""
        if episode not in self.episodes:
            raise InvalidValue("episode", f"a finished episode, {episode} is not one")
        if isinstance(label, float) or label not in (0, 1):
            raise InvalidValue("label", "0 or 1")
        if self.labels.get((episode, voice)) == int(label):
            return
        self.withdraw(episode, voice)
        self.labels[episode, voice] = int(label)
        self.changes.append(Change(episode, int(label), 1, voice))

    def withdraw(self, episode: int, voice: int = 0) -> None:
        """Take an episode's label of this voice back, if it has one."""
        if (episode, voice) in self.labels:
            taken = self.labels.pop((episode, voice))
            self.changes.append(Change(episode, taken, -1, voice))

    def verdicts(self) -> list[tuple[int, int]]:
        """(episode, label) of every voice, in an order that does not depend on when they came."""
        return sorted((episode, label) for (episode, _), label in self.labels.items())

    @property
    def positives(self) -> int:
        """How many labels are good."""
        return sum(self.labels.values())

    def arrays(self) -> Arrays:
        """Everything as plain arrays."""
        numbers = list(self.episodes)
        played = [self.episodes[number] for number in numbers]
        none: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        stored: Arrays = {f"transitions.{k}": v for k, v in self.transitions.arrays().items()}
        if self.observed is not None:
            seen = [one.observations for one in played if one.observations is not None]
            stored["observations"] = np.concatenate([np.empty((0, self.observed)), *seen])
            unknown = np.full(self.observed, np.nan)
            ends = [one.final_observation for one in played]
            finals = [unknown if end is None else end for end in ends]
            stored["final_observations"] = np.array(finals).reshape(-1, self.observed)
        return stored | {
            "episodes": np.array(numbers, dtype=np.int64),
            "lengths": np.array([len(one) for one in played], dtype=np.int64),
            "finals": np.array([one.final for one in played], dtype=np.int64),
            "ended": np.array([one.ended for one in played], dtype=np.bool_),
            "states": np.concatenate(none + [one.states for one in played]).astype(np.int32),
            "actions": np.concatenate(none + [one.actions for one in played]).astype(np.int32),
            "changes": np.array(self.changes, dtype=np.int64).reshape(-1, 4),
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what ``arrays`` gave; this experience must still be empty."""
        try:
            prefix = "transitions."
            counts = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
            self.transitions.load(counts)
            cuts = np.cumsum(arrays["lengths"])[:-1]
            states = np.split(arrays["states"].astype(np.int64), cuts)
            actions = np.split(arrays["actions"].astype(np.int64), cuts)
            ends = zip(arrays["finals"].tolist(), arrays["ended"].tolist(), strict=True)
            seen, last = self._observations(arrays, cuts), self._final_observations(arrays)
            for number, s, a, end, o, final in zip(
                arrays["episodes"].tolist(), states, actions, ends, seen, last, strict=False
            ):
                self.episodes[number] = Trajectory(s, a, end[0], end[1], o, final)
            for change in (Change(*row) for row in arrays["changes"].tolist()):
                if change.sign > 0:
                    self.labels[change.episode, change.voice] = change.label
                else:
                    del self.labels[change.episode, change.voice]
                self.changes.append(change)
        except (KeyError, ValueError, TypeError, InvalidValue) as error:
            raise SnapshotError(f"experience: {error!r}") from error

    def _observations(
        self, arrays: Mapping[str, NDArray[Any]], cuts: NDArray[np.int64]
    ) -> Sequence[NDArray[np.float64] | None]:
        """What was seen in each stored episode; None for those whose states are numbered."""
        if self.observed is None:
            if "observations" in arrays:
                raise InvalidValue("observations", "none")
            return [None] * len(arrays["episodes"])
        if arrays["observations"].shape != (int(arrays["lengths"].sum()), self.observed):
            raise InvalidValue("observations", f"{self.observed} numbers for every step")
        return np.split(arrays["observations"], cuts)

    def _final_observations(
        self, arrays: Mapping[str, NDArray[Any]]
    ) -> Sequence[NDArray[np.float64] | None]:
        """The observation after the last action of each stored episode; None where unknown.

        Snapshots of earlier versions have none.
        """
        stored = arrays.get("final_observations")
        if self.observed is None or stored is None:
            return [None] * len(arrays["episodes"])
        if stored.shape != (len(arrays["episodes"]), self.observed):
            raise InvalidValue("final_observations", f"{self.observed} numbers for every episode")
        return [None if np.isnan(row).any() else row for row in stored]
