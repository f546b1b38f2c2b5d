"""Behaviour parameters: the version of the network that played each episode.

A policy gradient is taken at the parameters that chose the actions. Learning may replace the policy
while an episode runs, and a corrected label changes earlier updates, so the parameters that were
used are stored.
"""

from __future__ import annotations

import numpy as np

from app.learning.arrays import Arrays, Floats

OPEN = 256  # versions back that a running episode may have been planned with


class Authorship:
    """Versions of the parameters, and which version played which episode."""

    def __init__(self) -> None:
        self.played: dict[int, int] = {}  # the version of a finished episode
        self._planned: dict[int, int] = {}  # the version of a plan or of a running episode
        self._versions: dict[int, Floats] = {}
        self._newest = -1
        self._in_use: set[int] = set()  # versions that a finished episode played

    def plan(self, episode: int, theta: Floats) -> None:
        """Record that a plan was made for an episode with these parameters."""
        known = self._versions.get(self._newest)
        if known is None or not np.array_equal(known, theta):
            self._newest += 1
            self._versions[self._newest] = theta
            self._forget(self._newest - OPEN)
        self._planned[episode] = self._newest

    def plays(self, episode: int, planned: int) -> None:
        """Record that an episode plays the plan that was made for another."""
        if planned in self._planned:
            self._planned[episode] = self._planned[planned]

    def finish(self, episode: int) -> None:
        """Keep the version that played a finished episode permanently."""
        if episode in self._planned:
            self.played[episode] = self._planned[episode]
            self._in_use.add(self._planned[episode])

    def of(self, episode: int) -> Floats | None:
        """The parameters that played an episode; None for an imported one."""
        version = self.played.get(episode)
        return None if version is None else self._versions[version]

    def _forget(self, version: int) -> None:
        """Drop versions that no episode has played, and plans that are too old."""
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
        """Load what ``arrays`` returned."""
        versions = zip(arrays["versions"].tolist(), arrays["thetas"], strict=True)
        self._versions = dict(versions)
        self.played = dict(arrays["played"].tolist())
        self._in_use = set(self.played.values())
        self._planned = dict(arrays["planned"].tolist())
        self._newest = int(arrays["newest"])
