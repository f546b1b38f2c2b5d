"""Who played an episode: the parameters of the policy that it was given, kept as they were.

Learning may replace any policy while an episode runs, and a corrected label replaces the past
itself. What an episode was played with is a fact all the same, and a gradient is taken there.
"""

from __future__ import annotations

import numpy as np

from app.learning.arrays import Arrays, Floats

OPEN = 256  # versions back that a running episode may have been planned with


class Authorship:
    """The versions of the parameters that plans were made with, and who played which."""

    def __init__(self) -> None:
        self.played: dict[int, int] = {}  # the version of a finished episode
        self._planned: dict[int, int] = {}  # the version of a plan or of a running episode
        self._versions: dict[int, Floats] = {}
        self._newest = -1
        self._in_use: set[int] = set()  # versions that a finished episode played

    def plan(self, episode: int, theta: Floats) -> None:
        """A plan was made for an episode."""
        known = self._versions.get(self._newest)
        if known is None or not np.array_equal(known, theta):
            self._newest += 1
            self._versions[self._newest] = theta
            self._forget(self._newest - OPEN)
        self._planned[episode] = self._newest

    def plays(self, episode: int, planned: int) -> None:
        """An episode plays the plan that was made for another."""
        if planned in self._planned:
            self._planned[episode] = self._planned[planned]

    def finish(self, episode: int) -> None:
        """From now on the episode's version is kept for ever."""
        if episode in self._planned:
            self.played[episode] = self._planned[episode]
            self._in_use.add(self._planned[episode])

    def of(self, episode: int) -> Floats | None:
        """The parameters that played an episode, unless it was played elsewhere."""
        version = self.played.get(episode)
        return None if version is None else self._versions[version]

    def _forget(self, version: int) -> None:
        """Let go of a version that nobody has played, and of plans that are too old."""
        if version not in self._in_use:
            self._versions.pop(version, None)
        self._planned = {n: v for n, v in self._planned.items() if v > version}

    def arrays(self) -> Arrays:
        """Everything as plain arrays."""
        return {
            "versions": np.array(list(self._versions), dtype=np.int64),
            "thetas": np.array(list(self._versions.values())),
            "played": np.array(list(self.played.items()), dtype=np.int64).reshape(-1, 2),
            "planned": np.array(list(self._planned.items()), dtype=np.int64).reshape(-1, 2),
            "newest": np.array(self._newest),
        }

    def load(self, arrays: Arrays) -> None:
        """Take over what ``arrays`` gave."""
        versions = zip(arrays["versions"].tolist(), arrays["thetas"], strict=True)
        self._versions = dict(versions)
        self.played = dict(arrays["played"].tolist())
        self._in_use = set(self.played.values())
        self._planned = dict(arrays["planned"].tolist())
        self._newest = int(arrays["newest"])
