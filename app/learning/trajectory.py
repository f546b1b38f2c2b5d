"""A trajectory: the states, actions and end of one finished episode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.errors import InvalidValue
from app.learning.arrays import Booleans, Floats, Integers

UNREPORTED = -1


@dataclass(frozen=True)
class Trajectory:
    """The states acted in, the actions taken, and what followed the last action.

    ``ended`` says that the environment ended the episode, in state ``final``, where it stays for
    the rest of the horizon. Without ``ended``, ``final`` is the state that the last action led to.
    ``final`` is -1 if it was not reported.

    For an agent that observes k numbers, ``observations`` holds them and every state is 0.
    """

    states: Integers  # (n,)
    actions: Integers  # (n,)
    final: int = UNREPORTED
    ended: bool = False
    observations: Floats | None = None  # (n, k)
    final_observation: Floats | None = None  # (k,): what the last action led to, if reported
    foreign: Booleans | None = None  # (n,): steps in which somebody else acted; None: in none
    allowed: Booleans | None = None  # (n, A): what was possible; None: everything in every step

    @classmethod
    def observed(
        cls,
        observations: Floats,
        actions: Integers,
        ended: bool = False,
        final: Floats | None = None,
        foreign: Booleans | None = None,
        allowed: Booleans | None = None,
    ) -> Trajectory:
        """An episode of an agent that sees numbers; ``final`` (k,) is the last, if reported."""
        states = np.zeros(len(actions), dtype=np.int64)
        return cls(states, actions, UNREPORTED, ended, observations, final, foreign, allowed)

    @property
    def is_reported(self) -> bool:
        """Whether it is known what the last action led to."""
        return self.final != UNREPORTED or self.final_observation is not None or self.ended

    def __len__(self) -> int:
        return len(self.actions)

    def check(self, states: int, actions: int, horizon: int) -> None:
        """Raise `InvalidValue` for a trajectory that does not fit the spaces."""
        if len(self.states) != len(self.actions) or len(self) > horizon:
            raise InvalidValue("trajectory", f"as many states as actions, at most {horizon}")
        for field, values, bound in (
            ("trajectory.states", self.states, states),
            ("trajectory.actions", self.actions, actions),
        ):
            whole = np.issubdtype(values.dtype, np.integer)
            if not whole or (len(values) and not 0 <= values.min() <= values.max() < bound):
                raise InvalidValue(field, f"whole numbers from 0 to {bound - 1}")
        if not UNREPORTED <= self.final < states:
            raise InvalidValue("trajectory.final", f"a state from 0 to {states - 1}, or -1")

    def check_observations(self, numbers: int | None) -> None:
        """Raise `InvalidValue` unless each step has ``numbers`` finite numbers (None: none)."""
        field, seen = "trajectory.observations", self.observations
        if numbers is None:
            if seen is not None:
                raise InvalidValue(field, "none, because states are numbered")
            return
        if seen is None or seen.shape != (len(self), numbers):
            raise InvalidValue(field, f"{numbers} numbers for each of the {len(self)} steps")
        if not np.issubdtype(seen.dtype, np.floating) or not np.isfinite(seen).all():
            raise InvalidValue(field, "finite numbers")
        last = self.final_observation
        if last is not None and (last.shape != (numbers,) or not np.isfinite(last).all()):
            raise InvalidValue("trajectory.final_observation", f"{numbers} finite numbers")
