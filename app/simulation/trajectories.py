"""Episodes that have been played, many at once."""

from __future__ import annotations

from dataclasses import dataclass

from app.learning.arrays import Integers

NOT_ENDED = -1
NO_ACTION = -1


@dataclass(frozen=True)
class Trajectories:
    """n episodes of at most H steps.

    Row i took ``lengths[i]`` actions. ``states[i, h]`` is the state it acted in at step h and,
    after the end, the state it ended in; ``actions[i, h]`` is -1 after the end. ``ended_in[i]``
    is the state it ended in, or -1 if the horizon came first. The last action may end an
    episode too: then its length is H and ``ended_in`` still says where.
    """

    states: Integers  # (n, H)
    actions: Integers  # (n, H)
    lengths: Integers  # (n,)
    ended_in: Integers  # (n,)

    def __len__(self) -> int:
        return len(self.lengths)
