"""The raw steps of many episodes as arrays: what was seen, what was done, what followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.learning.arrays import Floats, Integers


@dataclass(frozen=True)
class Path:
    """One episode in numbers: the observations acted on, and the one that followed the last.

    ``final`` is None if it was not reported. ``ended`` says that the environment ended the
    episode after the last action.
    """

    observations: Floats  # (n, d)
    actions: Integers  # (n,)
    final: Floats | None = None  # (d,)
    ended: bool = False

    def __len__(self) -> int:
        return len(self.actions)


@dataclass(frozen=True)
class Steps:
    """Transitions with a known successor, and the last steps whose successor is not known."""

    before: Floats  # (n, d)
    actions: Integers  # (n,)
    after: Floats  # (n, d)
    ended: Floats  # (n,): 1 where the episode ended in ``after``
    open_before: Floats  # (m, d): last observations without a successor
    open_actions: Integers  # (m,)
    open_ended: Floats  # (m,)

    def __len__(self) -> int:
        return len(self.actions)

    def visited(self) -> Floats:
        """Every observation, repeated as often as it was seen, shape (v, d)."""
        return np.concatenate([self.before, self.open_before, self.after[self.ended > 0]])

    def sample(self, count: int, rng: np.random.Generator) -> Steps:
        """At most ``count`` transitions, chosen at random."""
        if len(self) <= count:
            return self
        kept = np.sort(rng.choice(len(self), count, replace=False))
        return Steps(
            self.before[kept],
            self.actions[kept],
            self.after[kept],
            self.ended[kept],
            self.open_before,
            self.open_actions,
            self.open_ended,
        )


def gather(paths: Sequence[Path], dimensions: int) -> Steps:
    """The steps of all paths; ``dimensions`` is d, for the case that there are none."""
    before, actions, after, ended = [np.empty((0, dimensions))], [], [np.empty((0, dimensions))], []
    opened: list[tuple[Floats, int, bool]] = []
    for path in paths:
        if not len(path):
            continue
        rows = path.observations
        known = len(path) if path.final is not None else len(path) - 1
        before.append(rows[:known])
        actions.append(path.actions[:known])
        after.append(rows[1:] if path.final is None else np.vstack([rows[1:], path.final]))
        flags = np.zeros(known)
        if path.final is None:
            opened.append((rows[-1], int(path.actions[-1]), path.ended))
        else:
            flags[-1] = path.ended
        ended.append(flags)
    return Steps(
        np.concatenate(before),
        np.concatenate([np.empty(0, dtype=np.int64), *actions]),
        np.concatenate(after),
        np.concatenate([np.empty(0), *ended]),
        np.array([row for row, _, _ in opened]).reshape(-1, dimensions),
        np.array([action for _, action, _ in opened], dtype=np.int64),
        np.array([float(flag) for _, _, flag in opened]),
    )
