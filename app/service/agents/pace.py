"""The pace of an agent: how long learning, episodes and waiting starts take."""

from __future__ import annotations

from collections.abc import Iterable

from app.wire.base import Wait

_SMOOTHING = 0.3  # weight of the newest duration
_FEW = 5  # durations; fewer say little


class MovingAverage:
    """An exponential moving average of durations."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        self._count = 0

    @property
    def is_known(self) -> bool:
        """Whether enough durations were recorded to draw conclusions from."""
        return self._count >= _FEW

    def record(self, seconds: float) -> None:
        """Take one more duration into account."""
        known = self.seconds
        self.seconds = seconds if known is None else known + _SMOOTHING * (seconds - known)
        self._count += 1

    def record_all(self, durations: Iterable[float]) -> None:
        """Take some durations into account, oldest first."""
        for seconds in durations:
            self.record(seconds)


class Pace:
    """How long the parts of an agent's life took lately."""

    def __init__(self) -> None:
        self.learning = MovingAverage()  # from a request to learn to the new policy
        self.episode = MovingAverage()  # from the start of an episode to its end
        self.wait = MovingAverage()  # of starts that may wait for learning

    def longest_wait(self, wait: Wait, longest: float) -> float:
        """How many seconds a start may wait for learning, of at most ``longest``.

        An adaptive start waits only while learning is quicker than an episode, and never longer
        than an episode takes. Without a record of both it waits like any other.
        """
        learning, episode = self.learning.seconds, self.episode.seconds
        if wait == "adaptive" and learning is not None and episode is not None:
            return 0.0 if learning > episode else min(episode, longest)
        return longest if wait else 0.0
