"""A world learned from raw steps: scaled states, a net of centres, and where actions lead on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from app.learning.arrays import Floats, Integers
from app.learning.continuous.dynamics import Dynamics, count_within
from app.learning.continuous.interpolation import interpolate, neighbours
from app.learning.continuous.net import choose_net
from app.learning.continuous.scaling import Scaling, fit_scaling
from app.learning.continuous.steps import Path, Steps, gather

_STEPS = 20_000  # the most steps that the dynamics are fitted to; of more, a random sample
_STARTS = 200  # the most first states; of more, the newest
_COARSE = 300  # centres of the net that label models use


@dataclass(frozen=True)
class Bounds:
    """The box of the observations, as the client declares it, and the number of actions."""

    low: Floats  # (d,)
    high: Floats  # (d,)
    actions: int


class World:
    """What the steps of some episodes say about where actions lead."""

    def __init__(
        self, paths: Sequence[Path], bounds: Bounds, size: int, rng: np.random.Generator
    ) -> None:
        self.bounds = bounds
        steps = gather(paths, len(bounds.low))
        self.total = len(steps) + len(steps.open_actions)
        steps = steps.sample(_STEPS, rng)
        self._share = self.total / max(len(steps) + len(steps.open_actions), 1)
        self.scaling: Scaling = fit_scaling(steps, bounds.low, bounds.high, bounds.actions)
        self.dynamics = self._fit_dynamics(steps)
        seen = steps.visited()
        self._constant = (seen == seen[0]).all(axis=0)
        visited = self.scaling(seen)
        self._outside = 1.0 - float(self.inside(visited).mean())
        self.fine = choose_net(visited, size, rng)
        self.coarse = choose_net(self.fine, _COARSE, rng)
        newest = [path.observations[0] for path in paths if len(path)][-_STARTS:]
        self.starts = self.scaling(np.array(newest))

    def _fit_dynamics(self, steps: Steps) -> Dynamics:
        """Fit the dynamics, then predict the successors that were not reported."""
        scale = self.scaling
        after = scale(steps.after)
        dynamics = Dynamics(
            scale(steps.before), steps.actions, after, steps.ended, self.bounds.actions
        )
        if len(steps.open_actions):
            guessed = dynamics.predict(scale(steps.open_before))
            guessed = guessed[np.arange(len(guessed)), steps.open_actions]
            dynamics.observe_ends(
                np.concatenate([after, guessed]), np.concatenate([steps.ended, steps.open_ended])
            )
        return dynamics

    @cached_property
    def after(self) -> Floats:
        """Where each action leads from each centre, shape (K, A, d)."""
        return self.dynamics.predict(self.fine)

    @cached_property
    def moves(self) -> tuple[Integers, Floats]:
        """`after` as centres and weights, both of shape (K, A, m)."""
        chosen, weights = self.locate(self._flat)
        shape = (*self.after.shape[:2], -1)
        return chosen.reshape(shape), weights.reshape(shape)

    @cached_property
    def ends(self) -> Floats:
        """The probability that an action ends the episode, shape (K, A)."""
        return self.dynamics.end_probability(self._flat).reshape(self.after.shape[:2])

    @cached_property
    def visits(self) -> Floats:
        """How often states near `after` were visited, shape (K, A)."""
        counts = self._share * self.dynamics.visits(self._flat)
        return counts.reshape(self.after.shape[:2])

    def visits_of(self, points: Floats) -> Floats:
        """How many of these points (n, d) lie near `after`, shape (K, A)."""
        return count_within(cKDTree(points), self._flat).reshape(self.after.shape[:2])

    @cached_property
    def leads_inside(self) -> Floats:
        """1 where an action leads to a place inside the declared box, shape (K, A)."""
        return self.inside(self._flat).reshape(self.after.shape[:2])

    def inside(self, z: Floats) -> Floats:
        """1 for each z (n, d) inside the declared box, else 0."""
        x = self.scaling.back(z)
        slack = 1e-6 * (self.bounds.high - self.bounds.low)
        within = (x >= self.bounds.low - slack) & (x <= self.bounds.high + slack)
        return np.asarray(within.all(axis=1), dtype=np.float64)

    def locate(self, z: Floats) -> tuple[Integers, Floats]:
        """Centres and weights of points (n, d), both of shape (n, m)."""
        return interpolate(z, self.fine, neighbours(z.shape[1]))

    def states_of(self, path: Path, horizon: int) -> Floats:
        """The states 1..H of an episode in z, shape (H, d); the last repeats to the end.

        If the last state was not reported, the dynamics predict it.
        """
        z = self.scaling(path.observations)
        if path.final is not None:
            last = self.scaling(path.final)
        else:
            last = self.dynamics.predict(z[-1:])[0, path.actions[-1]]
        states = np.empty((horizon, z.shape[1]))
        states[: len(z) - 1] = z[1:]
        states[len(z) - 1 :] = last
        return states

    def warnings(self) -> dict[str, str]:
        """What looks wrong with the observations or the declared box: codes and sentences."""
        found = {}
        if self._outside > 0.0:
            share = f"{100.0 * self._outside:.0f} %" if self._outside >= 0.01 else "A few"
            found["outside_the_box"] = f"{share} of the observations lie outside the declared box."
        still = np.flatnonzero(self._constant).tolist()
        if still:
            found["numbers_never_change"] = (
                f"These observed numbers never change: {still} (counted from 0)."
            )
        return found

    @property
    def _flat(self) -> Floats:
        return self.after.reshape(-1, self.after.shape[2])
