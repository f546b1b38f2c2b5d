"""Smooth dynamics from raw steps: where an action leads, and how probable an end is there."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from app.learning.arrays import Floats, Integers
from app.learning.continuous.ridge import one_hot, ridge

_GLOBAL_PENALTY = 1e-3
_LOCAL_PENALTY = 0.1
_END_NEIGHBOURS = 3
VISIT_RADIUS = 0.07  # times sqrt(d)


class Dynamics:
    """A ridge regression over all steps, and local linear regressions on what it leaves over.

    Both predict the change of z. The global one has the features (1, action, z). The local one at
    z has the 2 (d + A) + 6 nearest steps of all actions and the features (1, action, (z_i - z)/r),
    r the distance of the farthest: one regression answers for every action.
    """

    def __init__(
        self, before: Floats, actions: Integers, after: Floats, ended: Floats, count: int
    ) -> None:
        self._count = count  # of actions
        self._before, self._actions = before, actions
        self._global = ridge(self._features(before, actions), after - before, _GLOBAL_PENALTY)
        self._left = after - before - self._features(before, actions) @ self._global
        self._tree = cKDTree(before)
        self.observe_ends(after, ended)

    def observe_ends(self, after: Floats, ended: Floats) -> None:
        """The states that steps led to, (n, d), and whether the episode ended there, (n,)."""
        self._ended = ended
        self._after_tree = cKDTree(after)

    def _features(self, z: Floats, actions: Integers) -> Floats:
        return np.hstack([np.ones((len(z), 1)), one_hot(actions, self._count), z])

    def predict(self, z: Floats) -> Floats:
        """The next z for every action, from z of shape (n, d): shape (n, A, d)."""
        n, d = z.shape
        wanted = min(2 * (d + self._count) + 6, len(self._before))
        gaps, near = self._tree.query(z, k=wanted)
        near, gaps = near.reshape(n, wanted), gaps.reshape(n, wanted)
        local = self._local(z, near, np.maximum(gaps[:, -1], 1e-9))
        actions = np.tile(np.arange(self._count), n)
        common = self._features(np.repeat(z, self._count, axis=0), actions) @ self._global
        shift = local[:, :1] + local[:, 1 : 1 + self._count]
        return np.asarray(z[:, None, :] + common.reshape(n, self._count, d) + shift)

    def _local(self, z: Floats, near: Integers, radius: Floats) -> Floats:
        """Coefficients of the local regressions, shape (n, 1 + A + d, d)."""
        offsets = (self._before[near] - z[:, None, :]) / radius[:, None, None]
        dummies = one_hot(self._actions[near], self._count)
        ones = np.ones((*near.shape, 1))
        features = np.concatenate([ones, dummies, offsets], axis=2)
        return ridge(features, self._left[near], _LOCAL_PENALTY)

    def end_probability(self, after: Floats) -> Floats:
        """The share of ends among the three nearest states that steps led to, shape (n,)."""
        count = min(_END_NEIGHBOURS, self._after_tree.n)
        _, near = self._after_tree.query(after, k=count)
        return np.asarray(self._ended[near.reshape(len(after), count)].mean(axis=1))

    def visits(self, points: Floats) -> Floats:
        """How many steps led to within 0.07 sqrt(d) of each point (n, d), shape (n,)."""
        return count_within(self._after_tree, points)


def count_within(tree: cKDTree, points: Floats) -> Floats:
    """How many of a tree's points lie within 0.07 sqrt(d) of each point (n, d)."""
    radius = VISIT_RADIUS * np.sqrt(points.shape[1])
    counts = tree.query_ball_point(points, radius, return_length=True)
    return np.asarray(counts, dtype=np.float64)
