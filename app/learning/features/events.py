"""Event features: whether something happened in an episode, such as "was in a and later in b".

A feature is 1 if its event happened and 0 if not. It is not a sum over steps: "was in a and in b"
is not a weight for a plus a weight for b. An automaton that reads the states knows which events
have happened so far: events are planned for as the features of that automaton.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from app.errors import InvalidValue
from app.learning.arrays import Integers
from app.learning.features.automaton import Automaton, AutomatonTables
from app.learning.features.base import FeatureMap, Row
from app.learning.features.event_automaton import compile_events
from app.learning.spaces import Spaces
from app.learning.trajectory import Trajectory

PathEventKind = Literal["visited", "both", "then"]
SIZES: dict[PathEventKind, int] = {"visited": 1, "both": 2, "then": 2}


@dataclass(frozen=True)
class PathEvent:
    """An event that happens in an episode or does not.

    ``visited`` (a): some step was spent in a. ``both`` (a, b): one in a and one in b, in any
    order. ``then`` (a, b): one in a and a later one in b.
    """

    kind: PathEventKind
    states: tuple[int, ...]

    def __post_init__(self) -> None:
        size = SIZES[self.kind]
        if len(self.states) != size or len(set(self.states)) != size:
            raise InvalidValue(self.kind, "one state" if size == 1 else "two different states")

    @property
    def meaning(self) -> tuple[PathEventKind, tuple[int, ...]]:
        """Equal for events that always happen together."""
        return self.kind, tuple(sorted(self.states)) if self.kind == "both" else self.states

    def happened(self, paths: Integers) -> NDArray[np.bool_]:
        """Whether the event happened on each of n paths (n, k); -1 stands for no state."""
        at = [paths == state for state in self.states]
        if self.kind == "visited":
            return np.asarray(at[0].any(axis=1))
        if self.kind == "both":
            return np.asarray(at[0].any(axis=1) & at[1].any(axis=1))
        return np.asarray((np.logical_or.accumulate(at[0], axis=1) & at[1]).any(axis=1))


@dataclass(frozen=True)
class PathEvents(FeatureMap):
    """One feature for each event. An episode that ended early stays where it ended."""

    spaces: Spaces
    events: tuple[PathEvent, ...]

    def __post_init__(self) -> None:
        if not self.events:
            raise InvalidValue("features.events", "at least one of them")
        known: set[tuple[PathEventKind, tuple[int, ...]]] = set()
        for number, event in enumerate(self.events):
            if not all(0 <= state < self.spaces.states for state in event.states):
                last = self.spaces.states - 1
                field = f"features.events.{number}.{event.kind}"
                raise InvalidValue(field, f"states from 0 to {last}")
            if event.meaning in known:
                raise InvalidValue(f"features.events.{number}", "an event that is not listed yet")
            known.add(event.meaning)

    def __str__(self) -> str:
        return "events: " + "; ".join(
            f"{event.kind} {', '.join(map(str, event.states))}" for event in self.events
        )

    @property
    def dimension(self) -> int:
        """d, the number of events."""
        return len(self.events)

    def row(self, trajectory: Trajectory) -> Row:
        """A 1 for each event that happened."""
        ended = trajectory.final if trajectory.ended else -1
        happened = self.happened(trajectory.states[None], np.array([ended]))[0]
        indices = np.flatnonzero(happened)
        return indices, np.ones(len(indices))

    def happened(self, states: Integers, ended: Integers) -> NDArray[np.bool_]:
        """Which events happened in n episodes of k actions, shape (n, d).

        ``states`` is (n, k); ``ended`` (n,) is the state that an episode ended in, or no state. An
        end after the last step of the horizon does not count as a visit.
        """
        paths = states
        if states.shape[1] < self.spaces.horizon:
            paths = np.concatenate([states, ended[:, None]], axis=1)
        return np.stack([event.happened(paths) for event in self.events], axis=1)

    def largest_norm(self) -> float:
        """sqrt(d), reached when every event happens."""
        return float(np.sqrt(self.dimension))

    def rows(
        self,
        states: Integers,
        actions: Integers,  # noqa: ARG002 - events are about states
        ended: Integers,
    ) -> sparse.csr_array:
        """A 1 for each event that happened in each episode."""
        return sparse.csr_array(self.happened(states, ended).astype(np.float64))

    @property
    def tables(self) -> AutomatonTables:
        """The tables over states joined with the events that have happened."""
        return self.automaton.tables

    @cached_property
    def automaton(self) -> Automaton:
        """The automaton that knows which events have happened."""
        return compile_events([(event.kind, event.states) for event in self.events], self.spaces)
