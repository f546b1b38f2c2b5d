"""The experience of an agent: finished episodes, their labels, and counted transitions.

The model of an agent is a function of its experience and its specification. Replacing or removing a
label leaves no trace. Several people may label one episode: each label has a slot (0, 1, 2, …), and
every slot counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidValue, SnapshotError
from app.learning.arrays import Arrays, Booleans, Floats
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory
from app.learning.world.transitions import TransitionCounts


class LabelUpdate(NamedTuple):
    """A label that was added or removed."""

    episode: int
    label: int
    sign: int  # +1 added, -1 removed
    slot: int = 0


class Experience:
    """Finished episodes by number, their labels, and the transitions counted from them."""

    def __init__(self, spaces: Spaces, observed: int | None = None) -> None:
        self.spaces = spaces
        self.observed = observed  # how many numbers are observed; None for numbered states
        self.transitions = TransitionCounts(spaces)
        self.episodes: dict[int, Trajectory] = {}
        self.labels: dict[tuple[int, int], int] = {}  # by (episode, slot)
        self.changes: list[LabelUpdate] = []

    def finish(self, episode: int, trajectory: Trajectory) -> None:
        """Add a finished episode and count its transitions; its label may come later."""
        if episode in self.episodes:
            raise InvalidValue("episode", f"a new number; episode {episode} is known")
        trajectory.check_observations(self.observed)
        self.transitions.add(trajectory)
        self.episodes[episode] = trajectory

    def report(
        self, episode: int, final: int, ended: bool = False, observation: Floats | None = None
    ) -> None:
        """Set the state after the last action of a finished episode, if it is still unknown.

        For an agent that observes numbers, ``observation`` (k,) replaces the state ``final``.
        """
        known = self.episodes.get(episode)
        if known is None or known.is_reported:
            raise InvalidValue("episode", f"one whose end is unknown, {episode} is not one")
        if self.observed is not None:
            reported = replace(known, final_observation=observation, ended=ended)
            reported.check_observations(self.observed)
            self.episodes[episode] = reported
            return
        reported = replace(known, final=final, ended=ended)
        reported.check(self.spaces.states, self.spaces.actions, self.spaces.horizon)
        self.transitions.report(reported)
        self.episodes[episode] = reported

    def abandon(self, trajectory: Trajectory) -> None:
        """Count the transitions of an abandoned episode; it never gets a label."""
        trajectory.check_observations(self.observed)
        self.transitions.add(trajectory)

    def set_label(self, episode: int, label: int, slot: int = 0) -> None:
        """Set the label of a finished episode in one slot, replacing an earlier one."""
        if episode not in self.episodes:
            raise InvalidValue("episode", f"a finished episode; {episode} is not finished")
        if isinstance(label, float) or label not in (0, 1):
            raise InvalidValue("label", "0 or 1")
        if self.labels.get((episode, slot)) == int(label):
            return
        self.remove_label(episode, slot)
        self.labels[episode, slot] = int(label)
        self.changes.append(LabelUpdate(episode, int(label), 1, slot))

    def remove_label(self, episode: int, slot: int = 0) -> None:
        """Remove the label of an episode in one slot, if there is a label."""
        if (episode, slot) in self.labels:
            removed = self.labels.pop((episode, slot))
            self.changes.append(LabelUpdate(episode, removed, -1, slot))

    def sorted_labels(self) -> list[tuple[int, int]]:
        """The labels as sorted (episode, label) pairs; the order of arrival does not count."""
        return sorted((episode, label) for (episode, _), label in self.labels.items())

    @property
    def positives(self) -> int:
        """The number of good labels."""
        return sum(self.labels.values())

    def arrays(self) -> Arrays:
        """Everything as plain arrays."""
        numbers = list(self.episodes)
        played = [self.episodes[number] for number in numbers]
        none: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        states = [episode.states for episode in played]
        actions = [episode.actions for episode in played]
        stored: Arrays = {f"transitions.{k}": v for k, v in self.transitions.arrays().items()}
        if self.observed is not None:
            seen = [episode.observations for episode in played if episode.observations is not None]
            stored["observations"] = np.concatenate([np.empty((0, self.observed)), *seen])
            unknown = np.full(self.observed, np.nan)
            ends = [episode.final_observation for episode in played]
            finals = [unknown if end is None else end for end in ends]
            stored["final_observations"] = np.array(finals).reshape(-1, self.observed)
        return stored | {
            "episodes": np.array(numbers, dtype=np.int64),
            "lengths": np.array([len(episode) for episode in played], dtype=np.int64),
            "finals": np.array([episode.final for episode in played], dtype=np.int64),
            "ended": np.array([episode.ended for episode in played], dtype=np.bool_),
            "states": np.concatenate(none + states).astype(np.int32),
            "actions": np.concatenate(none + actions).astype(np.int32),
            "foreign": _foreign_steps(played),
            "allowed": _allowed_steps(played, self.spaces.actions),
            "changes": np.array(self.changes, dtype=np.int64).reshape(-1, 4),
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Load what ``arrays`` returned into an empty experience."""
        try:
            prefix = "transitions."
            counts = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
            self.transitions.load(counts)
            cuts = np.cumsum(arrays["lengths"])[:-1]
            states = np.split(arrays["states"].astype(np.int64), cuts)
            actions = np.split(arrays["actions"].astype(np.int64), cuts)
            ends = zip(arrays["finals"].tolist(), arrays["ended"].tolist(), strict=True)
            seen, last = self._observations(arrays, cuts), self._final_observations(arrays)
            others, possible = _foreign_of(arrays, cuts), _allowed_of(arrays, cuts)
            rest = zip(seen, last, others, possible, strict=False)
            for number, s, a, end, more in zip(
                arrays["episodes"].tolist(), states, actions, ends, rest, strict=False
            ):
                final, ended = end
                self.episodes[number] = Trajectory(s, a, final, ended, *more)
            for change in (LabelUpdate(*row) for row in arrays["changes"].tolist()):
                if change.sign > 0:
                    self.labels[change.episode, change.slot] = change.label
                else:
                    del self.labels[change.episode, change.slot]
                self.changes.append(change)
        except (KeyError, ValueError, TypeError, InvalidValue) as error:
            raise SnapshotError(f"experience: {error!r}") from error

    def _observations(
        self, arrays: Mapping[str, NDArray[Any]], cuts: NDArray[np.int64]
    ) -> Sequence[Floats | None]:
        """The observations of each stored episode; None where states are numbered."""
        if self.observed is None:
            if "observations" in arrays:
                raise InvalidValue("observations", "none")
            return [None] * len(arrays["episodes"])
        if arrays["observations"].shape != (int(arrays["lengths"].sum()), self.observed):
            raise InvalidValue("observations", f"{self.observed} numbers for every step")
        return np.split(arrays["observations"], cuts)

    def _final_observations(self, arrays: Mapping[str, NDArray[Any]]) -> Sequence[Floats | None]:
        """The observation after the last action of each stored episode; None where unknown.

        Snapshots of earlier versions have none.
        """
        stored = arrays.get("final_observations")
        if self.observed is None or stored is None:
            return [None] * len(arrays["episodes"])
        if stored.shape != (len(arrays["episodes"]), self.observed):
            raise InvalidValue("final_observations", f"{self.observed} numbers for every episode")
        return [None if np.isnan(row).any() else row for row in stored]


def _foreign_steps(played: Sequence[Trajectory]) -> Booleans:
    """The steps of all episodes in which somebody else acted; empty if there are none."""
    if all(episode.foreign is None for episode in played):
        return np.empty(0, dtype=np.bool_)
    parts = [
        np.zeros(len(episode), dtype=np.bool_) if episode.foreign is None else episode.foreign
        for episode in played
    ]
    return np.concatenate(parts)


def _foreign_of(
    arrays: Mapping[str, NDArray[Any]], cuts: NDArray[np.int64]
) -> Sequence[Booleans | None]:
    """The steps of each episode in which somebody else acted; earlier snapshots have none."""
    stored = arrays.get("foreign")
    if stored is None or not len(stored):
        return [None] * len(arrays["episodes"])
    if len(stored) != int(arrays["lengths"].sum()):
        raise InvalidValue("foreign", "one entry for every step")
    return [part if part.any() else None for part in np.split(stored, cuts)]


def _allowed_steps(played: Sequence[Trajectory], actions: int) -> Booleans:
    """The possible actions of the steps of all episodes; empty if everything was possible."""
    if all(episode.allowed is None for episode in played):
        return np.empty((0, actions), dtype=np.bool_)
    parts = [
        np.ones((len(episode), actions), dtype=np.bool_)
        if episode.allowed is None
        else episode.allowed
        for episode in played
    ]
    return np.concatenate(parts)


def _allowed_of(
    arrays: Mapping[str, NDArray[Any]], cuts: NDArray[np.int64]
) -> Sequence[Booleans | None]:
    """The possible actions of the steps of each episode; earlier snapshots have none."""
    stored = arrays.get("allowed")
    if stored is None or not len(stored):
        return [None] * len(arrays["episodes"])
    if len(stored) != int(arrays["lengths"].sum()):
        raise InvalidValue("allowed", "one row for every step")
    return [None if part.all() else part for part in np.split(stored, cuts)]
