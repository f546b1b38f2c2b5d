"""The log of `smooth`: episodes as paths, and the checkpoints at which dynamics are learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.errors import SnapshotError
from app.learning.arrays import Arrays
from app.learning.continuous.steps import Path
from app.learning.trajectory import Trajectory

_GROWTH = 1.1  # growth of the log after which the dynamics are learned again


def path_of(trajectory: Trajectory) -> Path:
    """Convert an episode with observations to a path."""
    assert (
        trajectory.observations is not None
    )  # the experience has refused an episode without observations
    return Path(
        trajectory.observations, trajectory.actions, trajectory.final_observation, trajectory.ended
    )


def checkpoint(count: int) -> int:
    """The number of first episodes that the dynamics are learned from, given ``count``."""
    rung = 0
    while (following := max(rung + 1, int(np.ceil(_GROWTH * rung)))) <= count:
        rung = following
    return rung


def pack_paths(paths: Sequence[Path], dimensions: int) -> Arrays:
    """Paths without a label as plain arrays; the final observation is NaN where unknown."""
    unknown = np.full(dimensions, np.nan)
    finals = [unknown if path.final is None else path.final for path in paths]
    seen = [path.observations for path in paths]
    actions = [path.actions for path in paths]
    return {
        "lengths": np.array([len(path) for path in paths], dtype=np.int64),
        "observations": np.concatenate([np.empty((0, dimensions)), *seen]),
        "actions": np.concatenate([np.empty(0, dtype=np.int64), *actions]),
        "finals": np.array(finals).reshape(-1, dimensions),
        "ended": np.array([path.ended for path in paths], dtype=np.bool_),
    }


def unpack_paths(arrays: Arrays) -> list[Path]:
    """Unpack what `pack_paths` returned."""
    try:
        cuts = np.cumsum(arrays["lengths"])[:-1]
        parts = zip(
            np.split(arrays["observations"], cuts),
            np.split(arrays["actions"], cuts),
            arrays["finals"],
            arrays["ended"].tolist(),
            strict=False,
        )
        return [
            Path(seen, actions, None if np.isnan(final).any() else final, ended)
            for seen, actions, final, ended in parts
            if len(arrays["lengths"])
        ]
    except (KeyError, ValueError, IndexError) as error:
        raise SnapshotError(f"smooth: {error!r}") from error
